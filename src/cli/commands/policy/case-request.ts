import { resolve } from "node:path";
import { compileShape, mapOf, type Shape, TEXT } from "../../../config/shape.ts";
import { argumentPaths, checkDeclaredArguments } from "../../../engine/declared-arguments.ts";
import { Refusal } from "../../../engine/refusal.ts";
import type { RegisteredTool } from "../../../engine/registered-tool.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { CanonicalJson } from "../../../json/canonical.ts";
import type { JsonObject, JsonValue } from "../../../json/value.ts";
import type { TrackedFields } from "../../../policy/call-history.ts";
import { WRITTEN_LIMITS, type WrittenLimits } from "../../../policy/file/written-limits.ts";
import type { PolicyRequest } from "../../../policy/policy.ts";
import { checkPrincipal, type Principal } from "../../../policy/principal.ts";
import { SANDBOX_MODES, type SandboxMode } from "../../../tool/sandbox-mode.ts";
import type { ArgumentPath } from "../../../tool/tool-traits.ts";
import {
  type CallFlaw,
  EARLIER,
  historyOf,
  validCall,
  type WrittenEarlier,
  type WrittenToolCall,
} from "./earlier-calls.ts";

/** A call, and what is known about it, as cases and `policy explain` describe it. */
export interface WrittenCall {
  readonly call: WrittenToolCall;
  /** Default: the caller is not known. */
  readonly principal?: Principal;
  /** The session's id. Default: `policy-test`. */
  readonly session?: string;
  /** The user's words in the turn. Default: the client did not pass them on. */
  readonly userText?: string;
  /** What came before in the session, in order. Default: it is not known, unless the user's words are. */
  readonly earlier?: readonly WrittenEarlier[];
  /** The session's workspace. Relative to the file. Default: none. */
  readonly workspace?: string;
  /** The time of the decision, such as `2026-12-31T18:00:00+01:00`. Default: now. */
  readonly at?: string;
}

/** A case of a policy test. */
export interface WrittenCase extends WrittenCall {
  readonly name?: string;
  readonly expect: "allow" | "deny" | "ask";
  /** The sandbox of the grant. Default: any. */
  readonly sandbox?: SandboxMode;
  /** Limits that the grant must have, among any. */
  readonly limits?: WrittenLimits;
}

const TIME: JsonObject = {
  type: "string",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})$",
  message: "must be a time with its zone, such as 2026-12-31T18:00:00Z",
};

const CALL: JsonObject = {
  call: mapOf({ tool: TEXT, arguments: {} }, ["tool"]),
  principal: { type: "object" },
  session: TEXT,
  userText: { type: "string" },
  earlier: EARLIER,
  workspace: TEXT,
  at: TIME,
};

/** The shape of a {@link WrittenCall}. */
export const CALL_SHAPE: Shape = compileShape(mapOf(CALL, ["call"]));

/** The shape of a list of {@link WrittenCase}. The limits are checked when they are parsed. */
export const CASES_SHAPE: Shape = compileShape({
  type: "array",
  // A test without cases would pass whatever the policy decides.
  minItems: 1,
  items: mapOf(
    {
      ...CALL,
      name: TEXT,
      expect: { enum: ["allow", "deny", "ask"] },
      sandbox: { enum: SANDBOX_MODES },
      limits: mapOf(WRITTEN_LIMITS),
    },
    ["call", "expect"],
  ),
});

/** The context in which written calls become requests. */
interface RequestSetting {
  readonly registry: ToolRegistry;
  /** What the policy tracks: see `RuntimePolicy.trackedFields`. */
  readonly tracked: TrackedFields | undefined;
  /** The directory to which a workspace is relative. */
  readonly directory: string;
}

/** Returns the request that a policy would get for a call, with its arguments as the tool's schema accepts them. */
export async function requestOf(
  { call, principal, session = "policy-test", userText, earlier, workspace, at }: WrittenCall,
  { registry, tracked, directory }: RequestSetting,
): Promise<{ readonly request: PolicyRequest } | { readonly flaws: readonly CallFlaw[] }> {
  const read = validCall(call, registry, ["call"]);
  if ("flaws" in read) return read;
  if (at !== undefined && Number.isNaN(Date.parse(at)))
    return { flaws: [{ path: ["at"], message: "there is no such time" }] };
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
        ...(at !== undefined && { time: { now: Date.parse(at) } }),
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
