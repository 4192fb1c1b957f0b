import { resolve } from "node:path";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import { compileShape, mapOf, type Shape, TEXT } from "../../../config/shape.ts";
import { argumentPaths, checkDeclaredArguments } from "../../../engine/declared-arguments.ts";
import { Refusal } from "../../../engine/refusal.ts";
import type { RegisteredTool } from "../../../engine/registered-tool.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { CanonicalJson } from "../../../json/canonical.ts";
import { parsePointer } from "../../../json/pointer.ts";
import type { JsonObject, JsonValue } from "../../../json/value.ts";
import type { CallHistory, LedgerTally, TrackedFields } from "../../../policy/call-history.ts";
import { WRITTEN_LIMITS, type WrittenLimits } from "../../../policy/file/written-limits.ts";
import type { PolicyRequest, PolicySubject } from "../../../policy/policy.ts";
import { checkPrincipal, type Principal } from "../../../policy/principal.ts";
import { problemText } from "../../../schema/arguments.ts";
import { type Entry, Ledger, numbersOf } from "../../../sessions/ledger/ledger.ts";
import { ProvenanceLedger } from "../../../sessions/provenance.ts";
import { SANDBOX_MODES, type SandboxMode } from "../../../tool/sandbox-mode.ts";
import type { ArgumentPath } from "../../../tool/tool-traits.ts";

/** A call of a tool, as it is written down. */
interface WrittenToolCall {
  readonly tool: string;
  /** Default: `{}`. */
  readonly arguments?: JsonValue;
}

/** What is wrong with a call that was written down. */
interface CallFlaw {
  readonly path: readonly string[];
  readonly message: string;
}

/** What came before a call: words of the user in an earlier turn, or a call that has ended. */
interface WrittenEarlier {
  readonly userText?: string;
  readonly call?: WrittenToolCall;
  /** The output of the call. Default: it says nothing. */
  readonly output?: JsonValue;
  /** Whether the call failed, although it may have taken effect. Default: it succeeded. */
  readonly failed?: boolean;
  /** Whether a person confirmed the call. Default: no. */
  readonly approved?: boolean;
  /** How long ago the call ended: a duration. Default: `1s`. */
  readonly ago?: string | number;
  /** How many such calls there were. Default: 1. */
  readonly times?: number;
  /** Default: the turn of the call that is decided on. */
  readonly turn?: "earlier";
  /** The id of another session of the principal. Default: the session of the call that is decided on. */
  readonly session?: string;
}

const MAX_TIMES = 100_000;

/** The shape of a list of {@link WrittenEarlier}. Which members go together is not part of it. */
const EARLIER: JsonObject = {
  type: "array",
  items: mapOf({
    userText: { type: "string" },
    call: mapOf({ tool: TEXT, arguments: {} }, ["tool"]),
    output: {},
    failed: { type: "boolean" },
    approved: { type: "boolean" },
    ago: { type: ["string", "integer"] },
    times: { type: "integer", minimum: 1, maximum: MAX_TIMES },
    turn: { enum: ["earlier"] },
    session: TEXT,
  }),
};

/** The present call, and the context of its history. */
interface Present {
  readonly userText: string | undefined;
  /** Whether the call that is decided on has a principal. */
  readonly hasPrincipal: boolean;
  /** What the policy tracks. */
  readonly tracked: TrackedFields | undefined;
  readonly registry: ToolRegistry;
}

const UNKNOWN: LedgerTally = Object.freeze({ count: 0, sum: 0n, isComplete: false });
const DEFAULT_AGO_MS = 1_000;

/** Returns the history that a session would have at a call, or the flaws of its description. */
function historyOf(
  earlier: readonly WrittenEarlier[],
  { userText, hasPrincipal, tracked, registry }: Present,
): CallHistory | { readonly flaws: readonly CallFlaw[] } {
  const read = earlier.map((written, index) => readEarlier(written, ["earlier", String(index)], registry));
  const flaws = read.flatMap((each) => ("flaws" in each ? each.flaws : []));
  if (flaws.length > 0) return { flaws };
  const all = read as readonly Earlier[];
  const provenance = new ProvenanceLedger(() => tracked);
  for (const each of all) if ("said" in each || each.turn === "earlier") learn(provenance, each);
  if (userText !== undefined) provenance.observeUserText(userText);
  for (const each of all) if ("call" in each && each.turn !== "earlier") learn(provenance, each);
  return { ...(userText !== undefined && { userText }), ledger: ledgerOf(all, hasPrincipal), provenance };
}

type Earlier = { readonly said: string } | EarlierCall;

interface EarlierCall extends Omit<WrittenEarlier, "call" | "ago"> {
  readonly call: { readonly tool: string; readonly input: JsonValue };
  readonly agoMs: number;
}

function readEarlier(
  { userText, call, ago = DEFAULT_AGO_MS, ...others }: WrittenEarlier,
  path: readonly string[],
  registry: ToolRegistry,
): Earlier | { readonly flaws: readonly CallFlaw[] } {
  const flaw = (member: readonly string[], message: string): { readonly flaws: readonly CallFlaw[] } => ({
    flaws: [{ path: [...path, ...member], message }],
  });
  if ((userText === undefined) === (call === undefined))
    return flaw([], "must have either 'call' or 'userText'");
  if (userText !== undefined || call === undefined) {
    const [more] = Object.keys(others);
    return more === undefined ? { said: userText ?? "" } : flaw([more], "words of the user cannot have this");
  }
  const agoMs = parseDuration(ago);
  if (agoMs === undefined) return flaw(["ago"], `must be ${DURATION_FORM}`);
  const read = validCall(call, registry, [...path, "call"]);
  return "flaws" in read ? read : { ...others, agoMs, call: { tool: call.tool, input: read.input } };
}

/** Provenance covers only the calls of its own session. */
function learn(provenance: ProvenanceLedger, earlier: Earlier): void {
  if ("said" in earlier) {
    provenance.observeUserText(earlier.said);
    return;
  }
  const { call, output, failed, session } = earlier;
  if (session !== undefined) return;
  provenance.noteArguments(call.input);
  if (failed === true) return;
  provenance.observe({ toolName: call.tool, arguments: call.input, output: output ?? null });
}

function ledgerOf(all: readonly Earlier[], hasPrincipal: boolean): NonNullable<CallHistory["ledger"]> {
  const now = Date.now();
  const ledgers = {
    turn: new Ledger(Number.POSITIVE_INFINITY),
    session: new Ledger(Number.POSITIVE_INFINITY),
    principal: new Ledger(Number.POSITIVE_INFINITY),
  };
  // Calls are entered in the order in which they ended.
  const calls = all.filter((each) => "call" in each).sort((a, b) => b.agoMs - a.agoMs);
  for (const { call, agoMs, approved = false, failed = false, times = 1, turn, session } of calls) {
    const entry: Entry = {
      turnId: turn ?? "this",
      tool: call.tool,
      numbers: numbersOf(call.input),
      isApproved: approved,
      isDone: !failed,
      endedAt: now - agoMs,
    };
    for (let count = 0; count < times; count++) {
      ledgers.principal.add(entry);
      if (session === undefined) ledgers.session.add(entry);
      if (session === undefined && turn === undefined) ledgers.turn.add(entry);
    }
  }
  return {
    tally: (query) =>
      query.scope === "principal" && !hasPrincipal
        ? UNKNOWN
        : ledgers[query.scope].tally(query, now, undefined),
  };
}

/**
 * Returns the tool and the arguments of a call, as the tool's schema accepts them.
 *
 * @param path Where the call is written.
 */
function validCall(
  { tool: name, arguments: args = {} }: WrittenToolCall,
  registry: ToolRegistry,
  path: readonly string[],
): { readonly tool: PolicySubject; readonly input: JsonValue } | { readonly flaws: readonly CallFlaw[] } {
  const tool = registry.find(name)?.subject;
  if (tool === undefined)
    return { flaws: [{ path: [...path, "tool"], message: `there is no tool '${name}'` }] };
  const validated = registry.validate(name, args);
  if (!("problems" in validated)) return { tool, input: validated.input };
  const flaws = validated.problems.map((problem) => ({
    path: [...path, "arguments", ...parsePointer(problem.path)],
    message: problemText(problem),
  }));
  return { flaws };
}

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

const CALL = {
  call: mapOf({ tool: TEXT, arguments: {} }, ["tool"]),
  principal: { type: "object" },
  session: TEXT,
  userText: { type: "string" },
  earlier: EARLIER,
  workspace: TEXT,
  at: TIME,
} satisfies JsonObject;

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
