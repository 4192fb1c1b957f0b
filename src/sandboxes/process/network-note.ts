import type { Isolation } from "../../tool/isolation.ts";
import type { Launched } from "./launcher.ts";
import type { ProgramOutput } from "./output/program-output.ts";

/** What programs say of a filter's ENETDOWN, and of names that they could not look up. */
const NO_NETWORK =
  /ENETDOWN|Network is down|EAI_AGAIN|Temporary failure in name resolution|Could not resolve|\[Errno 100\]/;

const NOT_GRANTED =
  "The program tried to reach the network, and this call is granted none besides a loopback interface of its own: if it needs one, " +
  "ask the user to grant this tool 'net' with the origins to reach, such as https://registry.npmjs.org";

const PAST_PROXY =
  "The program tried to reach the network past its proxy, which is the only way there, to the origins that 'net' grants: " +
  "have it use http_proxy and https_proxy";

const LANDLOCK =
  "Programs have no network here, not even loopback: Landlock cannot keep one apart from this machine's. " +
  "If this program needs one, ask the user to install bubblewrap";

/** What the model reads about a program that tried to reach the network. */
export function networkNotes(
  isolation: Isolation,
  launched: Launched,
  output: ProgramOutput,
  hasProxy: boolean,
): readonly string[] {
  if (isolation === "landlock") return output.says(NO_NETWORK) ? [LANDLOCK] : [];
  if (launched.hasTriedNetwork !== true) return [];
  return [hasProxy ? PAST_PROXY : NOT_GRANTED];
}
