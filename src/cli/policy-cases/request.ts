import { resolve } from "node:path";
import { argumentPaths, checkDeclaredArguments } from "../../engine/arguments/declared-paths.ts";
import { Refusal } from "../../engine/refusal.ts";
import type { RegisteredTool } from "../../engine/registered-tool.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { TrackedFields } from "../../policy/history/value-provenance.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { checkPrincipal } from "../../policy/principal.ts";
import type { ArgumentPath } from "../../tool/tool-traits.ts";
import type { WrittenCall } from "./case-shape.ts";
import { historyOf } from "./earlier.ts";
import { type CallFlaw, validCall } from "./tool-call.ts";

/** What calls that were written down are made requests of. */
export interface RequestSetting {
  readonly registry: ToolRegistry;
  /** What the policy tracks: see `RuntimePolicy.trackedFields`. */
  readonly tracked: TrackedFields | undefined;
  /** The one to which a workspace is relative. */
  readonly directory: string;
}

/** Returns the request that a policy would get for a call, with its arguments as the tool's schema accepts them. */
export async function requestOf(
  { call, principal, session = "policy-test", userText, earlier, workspace }: WrittenCall,
  { registry, tracked, directory }: RequestSetting,
): Promise<{ readonly request: PolicyRequest } | { readonly flaws: readonly CallFlaw[] }> {
  const read = validCall(call, registry, ["call"]);
  if ("flaws" in read) return read;
  const { input, tool } = read;
  const isHistoryKnown = userText !== undefined || earlier !== undefined;
  const present = { userText, tracked, registry, hasPrincipal: principal !== undefined };
  const history = isHistoryKnown ? historyOf(earlier ?? [], present) : undefined;
  if (history !== undefined && "flaws" in history) return history;
  const place = workspace === undefined ? undefined : resolve(directory, workspace);
  const paths = place === undefined ? undefined : await pathsIn(place, input, registry.find(tool.name));
  try {
    return {
      request: Object.freeze({
        callId: "policy-test",
        sessionId: session,
        input,
        canonical: new CanonicalJson(input),
        tool,
        ...(principal !== undefined && { principal: checkPrincipal(principal) }),
        ...(history !== undefined && { history }),
        ...(place !== undefined && { workspace: place }),
        ...(paths !== undefined && { paths }),
      }),
    };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { flaws: [{ path: ["principal"], message: error.message }] };
  }
}

/** Where the paths of a call lead, as the engine finds it; `undefined` if the workspace is not there, or a path leads out of it. */
async function pathsIn(
  workspace: string,
  input: JsonValue,
  registered: RegisteredTool | undefined,
): Promise<readonly ArgumentPath[] | undefined> {
  const { declared, tool } = registered ?? {};
  if (declared === undefined || tool === undefined) return undefined;
  try {
    return argumentPaths(await checkDeclaredArguments(declared, input, workspace, tool.name));
  } catch (error) {
    if (Refusal.is(error)) return undefined;
    throw error;
  }
}
