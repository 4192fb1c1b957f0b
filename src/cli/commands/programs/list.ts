import type { ProgramHeader } from "../../../programs/stores/suspension-store.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import { engineBuild } from "../../../sandboxes/quickjs/suspension/engine-build.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { openPrograms, type ProgramsPlace } from "./place.ts";

/** How many characters of an id are printed: enough to tell programs apart. */
const SHORT_ID = 12;

/** Prints the programs that are suspended, the oldest first. */
export async function list(
  { place, isJson }: { readonly place: ProgramsPlace; readonly isJson: boolean },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, true);
  try {
    const programs = store.list();
    if (isJson) await print(stdout, new ShownText(JSON.stringify(programs), { isData: true }));
    else if (programs.length === 0) await print(stdout, shown`no program is suspended`);
    else await print(stdout, joinShown(programs.map(lineOf), "\n"));
    return EXIT_OK;
  } finally {
    store.close();
  }
}

function lineOf(program: ProgramHeader): ShownText {
  const { id, toolName, principal = "-", sessionId, open } = program;
  const calls = open.length === 1 ? "1 call" : `${open.length} calls`;
  return shown`${id.slice(0, SHORT_ID)}  ${toolName}  ${principal}  session ${sessionId}  ${calls} open  ${leftText(program)}`;
}

/** Says how long a program may still wait, that it runs, or that this version cannot go on with it. */
export function leftText({ state, waitUntil, build }: ProgramHeader): string {
  if (state === "taken") return "running";
  if (build !== engineBuild()) return "suspended by another build";
  const left = waitUntil - Date.now();
  if (left <= 0) return "expired";
  const minutes = Math.ceil(left / 60_000);
  if (minutes < 120) return `${minutes} min left`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h left` : `${Math.round(minutes / 1_440)} days left`;
}
