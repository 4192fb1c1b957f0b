import { isAbsolute, resolve } from "node:path";
import { enterWorkspace } from "../../base/guarded-files.ts";
import { MAX_DELAY_MS } from "../../base/timers.ts";
import { expectedInstead } from "../../base/unknown-names.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import { guardRedaction } from "../../redaction/guarded-redaction.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { SandboxRouter, TurnObserver } from "../../sandboxes/contract/sandbox.ts";
import type { StageChanges } from "../../sandboxes/contract/staged-changes.ts";
import { isHostModule } from "../../tool/implementations/implementations.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { CallingAgent } from "../../tool/supervised-agent.ts";
import { type ClassTimeouts, checkTimeouts, type UpperBound } from "../bounds.ts";
import type { ToolCall } from "../call.ts";
import type { ToolRegistry } from "../registry.ts";
import { checkResultBudget, type ResultBudget } from "../result-budget.ts";
import type { Tool } from "../tool.ts";
import type { AskUser, Confirm } from "./confirmation.ts";
import type { CallTracer, EventStream } from "./events.ts";
import type { CallJournal } from "./journal.ts";
import type { CallSuspensions } from "./suspension.ts";

/**
 * Callbacks that can deny or abort calls. They can only restrict: they receive frozen data, and nothing that they
 * return grants anything. A hook that throws, returns an invalid verdict or takes longer than the context's
 * `decisionTimeoutMs` denies the call.
 */
export interface AgentHooks {
  /**
   * Called first, before lookup and parsing. `"abort"` ends the call without a result: nothing runs, and `dispatch`
   * returns `null`; a suspended call that continues fails like a denied one. `{ deny }` fails the call with `permission_denied`.
   */
  onToolCall?(call: ToolCall): CallVerdict | Promise<CallVerdict>;
  /** Called last, after the policy's grant and right before the sandbox. */
  onToolStart?(start: ToolStart): StartVerdict | Promise<StartVerdict>;
}

/** `undefined` and `"continue"` let the call continue. The reason of a denial is only for the operator. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only observes returns nothing
type StartVerdict = void | undefined | "continue" | { readonly deny: string };

/** A {@link StartVerdict}, or `"abort"` to end the call without a result. */
export type CallVerdict = StartVerdict | "abort";

/** A call that is about to run. Frozen. */
export interface ToolStart {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** The caller; absent if the context does not name one. */
  readonly principal?: Principal;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  readonly grant: ExecutionGrant;
}

/** How the changes of a call are staged. */
export interface ChangeStaging {
  /** Opens the files in which they are. `undefined` if they cannot be staged now. */
  readonly open: StageChanges | undefined;
  /** Whether the call must not run unless its changes are staged. */
  readonly isRequired: boolean;
}

/**
 * Everything that a dispatch needs besides its call, as an engine has no state.
 *
 * @typeParam Embedder The type of `embedder`, which is required if the tools of the registry need one. Default: any.
 */
export type DispatchContext<Embedder = unknown> = {
  readonly registry: ToolRegistry<Embedder>;
  readonly policy: RuntimePolicy;
  readonly sandboxes: SandboxRouter;
  /** Identifies the conversation to hooks, policies, sandboxes and listeners. */
  readonly sessionId: string;
  /** Identifies the turn of the conversation: everything between two messages of the user. Default: not known. */
  readonly turnId?: string;
  /** Identifies the assistant message within its turn. Default: not known. */
  readonly messageId?: string;
  /** The absolute path of the session's workspace, for policies and tools. Default: none. */
  readonly workspace?: string;
  /**
   * The caller, as you authenticated it. Hooks, policies, tools and listeners get a frozen copy. A call whose principal
   * is invalid is denied. `checkPrincipal` returns one that need not be copied for each call. Default: not known.
   */
  readonly principal?: Principal;
  /** The supervised agent that calls, for host functions: see `sandgate/supervisor`. Default: none. */
  readonly agent?: CallingAgent;
  /**
   * Returns the alias under which the model was offered a tool, for texts that it reads: a protocol's `toAlias`.
   * Default: tools have no aliases.
   */
  readonly toolAlias?: (name: string) => string;
  readonly hooks?: AgentHooks;
  readonly events?: EventStream;
  /**
   * Hides secrets in events and in the messages of failures; with its option `results`, in executions too. Default: none
   * are hidden.
   */
  readonly redaction?: Redaction;
  /**
   * Retains in the execution of a call that was cancelled or timed out what its tool had streamed
   * (`partialOutput`), without these secrets. Default: it is not retained.
   */
  readonly partialOutput?: Redaction;
  /** Asks a person about the calls that the policy asks about. Default: these calls are denied. */
  readonly confirm?: Confirm;
  /** Asks a person what a tool wants to know. Default: nobody can be asked. */
  readonly ask?: AskUser;
  /**
   * Returns how the changes of a call are staged: what its tool, if it is a host function, changes through `context.files`
   * does not reach the disk then. Default: no changes are staged.
   */
  readonly stageChanges?: (callId: string) => ChangeStaging | undefined;
  /** Records every call: one that cannot be recorded does not run. Default: calls are not recorded. */
  readonly journal?: CallJournal;
  /**
   * Persists calls of JavaScript tools while they wait for the calls that they make, so that they outlive the process: see
   * `sandgate/programs`. Default: they end with the process.
   */
  readonly suspensions?: CallSuspensions;
  /** Follows every call: see `sandgate/opentelemetry`. Default: calls are not traced. */
  readonly tracer?: CallTracer;
  /**
   * Identifies the one call that is dispatched in the context, for tools that declare `idempotent`: the same each time the
   * call is run again. A call that its tool makes gets a key of its own, which is derived from this one, or from principal,
   * session, turn and `messageId`; with neither it gets none. Default: none.
   */
  readonly idempotencyKey?: string;
  /** Cancels the running calls and all later ones. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds for which the call waited for its turn before it was dispatched. They are part of `receipt.used.waitedMs`,
   * and of the time that sandboxes let it wait (`workers.maxWaitMs`). Default: 0.
   */
  readonly waitedMs?: number;
  /**
   * Follows whether the call waits: for what comes before it runs, its turn in a sandbox, or a person. Default: nothing does.
   *
   * @internal
   */
  readonly turn?: TurnObserver;
  /** Milliseconds that each hook and the policy may take to decide: 1 to 2^31 - 1. Default: 5,000. */
  readonly decisionTimeoutMs?: number;
  /**
   * What the model reads if a host implementation throws anything but a `ToolFailure`: `Tool failed (reference 7f3a9c)`, while
   * the event `tool.failed` has message and stack under the same reference, or the error's message. An error of the system
   * (`ENOENT`) has a text of its own in both cases. A tool's own `unhandledErrors` replaces it. Default: `"redacted"`.
   */
  readonly unhandledErrors?: "message" | "redacted";
  /**
   * How much of each result the model reads: beyond it, the beginning and the end. An execution's `output` is always
   * whole. Unlike the limit `outputBytes`, it fails no call. Default: 30,000 characters, 60 % of them the beginning.
   */
  readonly resultBudget?: ResultBudget;
  /**
   * The wall time of calls for which neither the grant nor the tool nor the sandbox sets one, as functions in this process;
   * `"none"` for no limit. Default: `quick` 60,000 ms, `slow` 600,000 ms.
   */
  readonly timeouts?: ClassTimeouts | "none";
  /** Limits, capabilities and sandboxes that no call may exceed, whatever the policy grants. Default: no bound. */
  readonly upperBound?: UpperBound;
} & (undefined extends Embedder ? Partial<EmbedderValue<Embedder>> : EmbedderValue<Embedder>);

interface EmbedderValue<Embedder> {
  /** Passed to host functions unchanged, as `HostContext.embedder`. */
  readonly embedder: Embedder;
}

/** Default of `DispatchContext.decisionTimeoutMs`. */
export const DEFAULT_DECISION_TIMEOUT_MS = 5_000;

type Member = keyof DispatchContext<unknown>;

/** What a member must be, in words, and whether a value is that. */
type MemberCheck = readonly [expected: string, fits: (value: unknown) => boolean];

/** Every member of a context. A record, so the compiler reports one that is missing. */
const MEMBERS: Readonly<Record<Member, MemberCheck>> = {
  registry: ["a ToolRegistry", hasMethod("has")],
  policy: ["a policy with the method check", hasMethod("check")],
  sandboxes: ["what openSandboxes returns", hasMethod("route")],
  sessionId: ["a text", isText],
  turnId: ["a text", isText],
  messageId: ["a text", isText],
  workspace: ["a text", isText],
  // A call whose principal is not valid is denied.
  principal: ["a principal", () => true],
  agent: ["a supervised agent", isObject],
  toolAlias: ["a function", isFunction],
  hooks: ["an object with hooks", isObject],
  // An emitter of Node.js has `emit`, too, and would get no event.
  events: [
    "an EventStream",
    (value) => isObject(value) && typeof (value as EventStream).listening === "boolean",
  ],
  redaction: ["a Redaction", hasMethod("text", "json", "narrow", "finds")],
  partialOutput: ["a Redaction", hasMethod("text", "json", "narrow", "finds")],
  confirm: ["a function", isFunction],
  ask: ["a function", isFunction],
  stageChanges: ["a function", isFunction],
  journal: ["a journal", hasMethod("begin")],
  suspensions: ["what openSuspensions returns", hasMethod("begin")],
  tracer: ["a tracer", hasMethod("begin")],
  idempotencyKey: ["a text", isText],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  waitedMs: ["a number of at least 0", (value) => typeof value === "number" && value >= 0],
  turn: ["an observer", hasMethod("waits")],
  decisionTimeoutMs: ["a number", () => true],
  unhandledErrors: ['"message" or "redacted"', (value) => value === "message" || value === "redacted"],
  resultBudget: ["a budget", () => true],
  timeouts: ["time-outs", () => true],
  upperBound: ["an UpperBound", isObject],
  embedder: ["anything", () => true],
};

/** The members of members. A hook under a wrong name would decide nothing. */
const NESTED_MEMBERS = {
  hooks: ["onToolCall", "onToolStart"],
  resultBudget: ["chars", "head"],
  timeouts: ["quick", "slow"],
  upperBound: ["limits", "capabilities", "sandboxes"],
} as const satisfies Partial<Record<Member, readonly string[]>>;

const REQUIRED = ["registry", "policy", "sandboxes", "sessionId"] as const satisfies readonly Member[];

/**
 * The last context that passed as it is. Most calls come with that of the call before, or with one that has the same objects: only
 * what differs is checked, which takes a tenth of the time. A weak map of all would cost each new context more than its check.
 */
let lastPassed: Partial<DispatchContext> = {};

/**
 * Checks what a dispatch throws for: an invalid context, which is an error of the program. Everything else
 * that can go wrong, such as a policy that throws, gives an execution.
 *
 * @returns the context, with the path of its workspace as the system would write it.
 * @throws {TypeError} if the context is not an object, lacks a member that is required, has one that is
 *   unknown or of a wrong type, or a number that is not valid.
 */
export function checkContext(ctx: DispatchContext): DispatchContext {
  if (ctx === lastPassed) return ctx;
  if (!isObject(ctx)) throw new TypeError("the context must be an object");
  for (const name of REQUIRED) if (ctx[name] === undefined) throw wrongMember(name);
  checkMembers(ctx, lastPassed);
  const guarded = guardRedactions(ctx, lastPassed);
  const { workspace } = ctx;
  if (workspace !== undefined && workspace !== lastPassed.workspace && isAbsolute(workspace)) {
    const plain = resolve(workspace);
    enterWorkspace(plain);
    if (plain !== workspace) return { ...guarded, workspace: plain };
  }
  if (guarded === ctx) lastPassed = ctx;
  return guarded;
}

/**
 * Has redactions that are not Sandgate's own hide everything where they fail: no call fails because of them.
 *
 * @param checked Redactions that are guarded, or need not be.
 */
export function guardRedactions<Some extends Partial<DispatchContext>>(
  ctx: Some,
  checked: Partial<DispatchContext> = {},
): Some {
  let guarded = ctx;
  for (const name of ["redaction", "partialOutput"] as const) {
    const given = ctx[name];
    if (given === undefined || given === checked[name]) continue;
    const guard = guardRedaction(given);
    if (guard !== given) guarded = { ...guarded, [name]: guard };
  }
  return guarded;
}

/**
 * Checks the members of a context that are there.
 *
 * @param checked Members that passed before, and are not checked again.
 * @throws {TypeError} if one is unknown or of a wrong type, or a number that is not valid.
 */
export function checkMembers(ctx: Partial<DispatchContext>, checked: Partial<DispatchContext> = {}): void {
  for (const name in ctx) {
    const value: unknown = ctx[name as Member];
    if (value !== undefined && value === checked[name as Member]) continue;
    if (!Object.hasOwn(MEMBERS, name)) throw unknownMember("the context", name, Object.keys(MEMBERS));
    if (value === undefined) continue;
    if (!MEMBERS[name as Member][1](value)) throw wrongMember(name as Member);
    if (Object.hasOwn(NESTED_MEMBERS, name)) checkNestedMembers(name as keyof typeof NESTED_MEMBERS, value);
  }
  const { decisionTimeoutMs, resultBudget, timeouts } = ctx;
  if (decisionTimeoutMs !== undefined && decisionTimeoutMs !== checked.decisionTimeoutMs)
    checkDecisionTimeout(decisionTimeoutMs);
  if (resultBudget !== undefined && resultBudget !== checked.resultBudget) checkResultBudget(resultBudget);
  if (timeouts !== undefined && timeouts !== checked.timeouts) checkTimeouts(timeouts);
}

function checkNestedMembers(name: keyof typeof NESTED_MEMBERS, value: unknown): void {
  if (!isObject(value)) return;
  const names: readonly string[] = NESTED_MEMBERS[name];
  const isHooks = name === "hooks";
  for (const nested in value as object) {
    const member: unknown = Reflect.get(value as object, nested);
    const isKnown = names.includes(nested);
    // An object with hooks can have a state of its own.
    if (!isKnown && (!isHooks || isFunction(member)))
      throw unknownMember(`${name} of the context`, nested, names);
    if (isKnown && isHooks && member !== undefined && !isFunction(member))
      throw new TypeError(`${name}.${nested} of the context must be a function`);
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function hasMethod(...names: readonly string[]): (value: unknown) => boolean {
  return (value) =>
    isObject(value) && names.every((name) => typeof Reflect.get(value as object, name) === "function");
}

function wrongMember(name: Member): TypeError {
  return new TypeError(`${name} of the context must be ${MEMBERS[name][0]}`);
}

function unknownMember(place: string, name: string, names: readonly string[]): TypeError {
  return new TypeError(`${place} has an unknown member '${name}': ${expectedInstead(name, names)}`);
}

function checkDecisionTimeout(value: number): void {
  if (typeof value === "number" && value >= 1 && value <= MAX_DELAY_MS) return;
  throw new TypeError(`decisionTimeoutMs must be a number from 1 to ${MAX_DELAY_MS}, not ${String(value)}`);
}

/**
 * Whether everything that a tool changes in a sandbox can be staged: it is a function or factory on the host that says so.
 */
export function canStage(
  { host, usesFiles }: Pick<Tool<never, never>, "host" | "usesFiles">,
  sandbox: SandboxMode | undefined,
): boolean {
  return sandbox === "host" && host !== undefined && !isHostModule(host) && usesFiles === "staged";
}
