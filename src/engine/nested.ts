import { commonCapabilities } from "../policy/grant/capabilities.ts";
import { checkGrant, type ExecutionGrant } from "../policy/grant/execution-grant.ts";
import { LIMIT_NAMES, type LimitName, type ResourceLimits, strictestLimits } from "../policy/grant/limits.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import type { CallTool, NestedCallOptions, NestedResult, Sandbox } from "../sandboxes/contract/sandbox.ts";
import { changesNothing, type SideEffects } from "../tool/side-effects.ts";
import { type PauseWallTime, pauseBoth } from "../tool/wall-time.ts";
import type { DispatchContext } from "./call/context.ts";
import type { CallTrace } from "./call/events.ts";
import type { ToolExecution } from "./call/execution.ts";
import { isRepeatableNested } from "./call/idempotency.ts";
import type { CallSuspension } from "./call/suspension.ts";
import { callDigest, type ReceivedCall, receiveCall } from "./call.ts";
import { abortedByHookText, type ErrorCode, interruptedText } from "./errors.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { NestedWork, WorkReport } from "./work-report.ts";

/**
 * How many calls a call's tool may make, directly and through the tools that it calls. The budgets of nested calls form
 * a tree: a call counts against every call above it.
 */
export class NestedBudget {
  readonly #limit: number;
  readonly #parent: NestedBudget | undefined;
  #used = 0;

  /**
   * @param limit The limit `nestedCalls` of the call. Default: only the calls above limit it.
   * @param parent The budget of the call whose tool makes this one; `undefined` for a call of the model.
   */
  constructor(limit: number | undefined, parent: NestedBudget | undefined) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#parent = parent;
  }

  /** How many calls were made in the tree below this call. */
  get used(): number {
    return this.#used;
  }

  /** How many more calls can be made; `Infinity` if nothing limits them. */
  get left(): number {
    return Math.min(this.#limit - this.#used, this.#parent?.left ?? Number.POSITIVE_INFINITY);
  }

  /** Counts one call. Returns `false` if the budget, or one above, is used up. */
  take(): boolean {
    if (this.left < 1) return false;
    this.#count();
    return true;
  }

  /** Counts calls that were made before the call was suspended, those above it not. */
  restore(calls: number): void {
    this.#used = calls;
  }

  #count(): void {
    this.#used++;
    if (this.#parent !== undefined) this.#parent.#count();
  }
}

const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "permission_denied",
  "user_denied",
  "confirmation_timeout",
]);

const NOT_RUN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "not_found",
  "validation_error",
  "sandbox_unavailable",
  "limit_unenforceable",
]);

/** How a call that an earlier process made continues: with the result that it had, or by a dispatch. */
type Again =
  | { readonly result: NestedResult }
  | {
      /** Whether it runs again after it was begun. */
      readonly isAgain: boolean;
      /** Whether its own tool was suspended. */
      readonly isSuspended: boolean;
    };

/** The maximum depth of calls: a call of the model has depth 0, and a call of this depth cannot call tools. */
export const MAX_NESTING = 3;

/** A call whose tool calls another tool. It cannot pass on more authority than it has. */
export interface Caller {
  readonly callId: string;
  readonly depth: number;
  readonly grant: ExecutionGrant;
  /** Its remaining limits. */
  readonly limits: ResourceLimits;
  readonly budget: NestedBudget;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly parent: Caller | undefined;
  /** Follows the calling call; `undefined` if the context has no tracer. */
  readonly trace?: CallTrace | undefined;
  /** Stops the wall time of the call and of its own callers; `undefined` if one of them cannot be stopped. */
  readonly pause?: PauseWallTime | undefined;
  /** Lets the call outlive its process; `undefined` if it cannot. */
  readonly suspension?: CallSuspension | undefined;
  /** How the nested call is claimed in `suspension`. */
  readonly claim?: NestedClaim;
  /** Persists the call and its callers, so that they outlive the process; `undefined` if they cannot be. */
  readonly persist?: (() => Promise<unknown>) | undefined;
}

export interface NestedClaim {
  /** Counts the calls of the tool, from 1. */
  readonly number: number;
  /** Whether the call runs again after it was begun. */
  readonly isAgain: boolean;
}

/** Dispatches a nested call like any other. */
export type DispatchNested = (
  call: ReceivedCall,
  ctx: DispatchContext,
  caller: Caller,
) => Promise<ToolExecution | null>;

/** Whether the caller's grant lets it call the tool of that name. */
export function mayCall({ grant }: Pick<Caller, "grant">, name: string): boolean {
  return grant.capabilities.tools?.some((pattern) => compileNamePattern(pattern).matches(name)) === true;
}

/**
 * Returns the function through which a tool calls other tools, or `undefined` if it may not call any.
 *
 * @param report Receives every call. Default: the calls are not reported.
 */
export function toolCaller(
  caller: Caller,
  ctx: DispatchContext,
  dispatch: DispatchNested,
  report?: WorkReport,
): CallTool | undefined {
  if (caller.grant.capabilities.tools === undefined || caller.depth >= MAX_NESTING) return undefined;
  const { budget, suspension } = caller;
  let count = 0;
  return async ({ name, input }, options) => {
    const { signal, wallTimeMs, pause, number = ++count, isResumed = false } = options;
    // A call that an earlier process made is counted.
    if (!isResumed && !budget.take()) return { error: BUDGET_USED_UP };
    const received = receiveCall({ id: `${caller.callId}/${number}`, name, arguments: input });
    const again = isResumed ? await nestedAgain(received, number, suspension, ctx) : NEW;
    if ("result" in again) {
      const { sideEffects } = ctx.registry.find(name)?.subject ?? {};
      report?.called(earlierWork(name, again.result, sideEffects), number);
      return again.result;
    }
    const call = again.isSuspended ? { ...received, isSuspended: true as const } : received;
    const signals = ctx.signal === undefined ? signal : AbortSignal.any([ctx.signal, signal]);
    const { left } = budget;
    const limits = {
      ...caller.limits,
      ...(wallTimeMs !== undefined && { wallTimeMs: Math.max(Math.ceil(wallTimeMs), 1) }),
      ...(Number.isFinite(left) && { nestedCalls: left }),
    };
    const nestedCaller: Caller = {
      ...caller,
      limits,
      pause: pauseAll(pause, caller.parent),
      persist: persistAll(options, caller.parent),
      claim: { number, isAgain: again.isAgain },
    };
    const execution = await dispatch(call, { ...ctx, signal: signals }, nestedCaller);
    report?.called(nestedWork(name, execution, ctx.registry.find(name)?.subject.sideEffects), number);
    const result = readResult(execution);
    if (suspension !== undefined) await suspension.end({ number, digest: callDigest(received) }, result);
    return result;
  };
}

const NEW = Object.freeze({ isAgain: false, isSuspended: false });

/** Returns what persists the callers of a call, the outermost first. */
function persistAll({ persist }: NestedCallOptions, parent: Caller | undefined): Caller["persist"] {
  const above = parent?.persist;
  if (above === undefined || persist === undefined) return persist;
  return () => above().then(persist);
}

/** Returns what pauses a call together with its callers. */
function pauseAll(own: PauseWallTime | undefined, parent: Caller | undefined): PauseWallTime | undefined {
  if (own === undefined || parent === undefined) return own;
  const { pause: above } = parent;
  return above && pauseBoth(own, above);
}

const BUDGET_USED_UP = Object.freeze({
  code: "limit_exceeded",
  message: "the call made as many nested calls as it may, including those that its nested calls made",
  effect: "none",
} as const);

function readResult(execution: ToolExecution | null): NestedResult {
  if (execution === null) {
    return { error: { code: "permission_denied", message: abortedByHookText(), effect: "none" } };
  }
  return execution.error === undefined ? { output: execution.output } : { error: execution.error };
}

/** Narrows a grant to the authority of the caller. */
export function narrowGrant(
  { sandbox, isolation, limits, capabilities }: ExecutionGrant,
  { grant, limits: left }: Caller,
): ExecutionGrant {
  const { tools, ...common } = commonCapabilities(grant.capabilities, capabilities);
  const isSpent = left.nestedCalls !== undefined && left.nestedCalls < 1;
  return checkGrant({
    sandbox,
    ...(isolation && { isolation }),
    limits: strictestLimits(limits, left.wallTimeMs === undefined ? {} : { wallTimeMs: left.wallTimeMs }),
    capabilities: { ...common, ...(tools !== undefined && !isSpent && { tools }) },
  });
}

/**
 * The limits of a nested call: for each limit, the lower one of its own and its caller's remaining one. A limit of the
 * caller that has no meaning in the nested call's sandbox is left out, since the caller's sandbox enforces it.
 */
export function narrowLimits(
  own: ResourceLimits,
  { capabilities }: ExecutionGrant,
  { limits: left }: Caller,
  sandbox: Sandbox,
  { tool }: RegisteredTool,
): ResourceLimits {
  const inherited = sandbox.inheritedLimits?.(tool) ?? LIMIT_NAMES;
  const shared: { [Name in LimitName]?: number } = {};
  for (const name of LIMIT_NAMES) {
    const value = left[name];
    if (value === undefined || value <= 0) continue;
    if (name === "nestedCalls" && capabilities.tools === undefined) continue;
    if (own[name] === undefined && !inherited.includes(name)) continue;
    if (sandbox.unenforceable({ [name]: value }, tool) === undefined) shared[name] = value;
  }
  return Object.freeze(strictestLimits(own, shared));
}

/**
 * Returns how to continue a call that a tool made before it was suspended. A call that had not begun is dispatched, without
 * asking a person again. One that had begun and has not ended runs again only if that has no further effect: it reads, or
 * its tool is `idempotent` and gets the same key as before.
 */
async function nestedAgain(
  { id, name }: ReceivedCall,
  number: number,
  suspension: CallSuspension | undefined,
  ctx: DispatchContext,
): Promise<Again> {
  const { registry, suspensions, sessionId, turnId = "", messageId = "" } = ctx;
  const known = await suspension?.known(number);
  if (known === undefined) return { isAgain: false, isSuspended: false };
  if (known !== "begun") return { result: known };
  const isSuspended = (await suspensions?.isSuspended({ sessionId, turnId, messageId, callId: id })) === true;
  if (isSuspended) return { isAgain: true, isSuspended };
  const registered = registry.find(name);
  if (registered !== undefined && isRepeatableNested(registered.tool, registered.subject.sideEffects, ctx))
    return { isAgain: true, isSuspended };
  return {
    result: { error: { code: "execution_error", message: interruptedText(name), effect: "unknown" } },
  };
}

/**
 * Returns the outcome of a call.
 *
 * @param execution `null` if a hook aborted the call.
 * @param sideEffects The class of the tool; `undefined` if there is no such tool.
 */
function nestedWork(
  tool: string,
  execution: ToolExecution | null,
  sideEffects: SideEffects | undefined,
): NestedWork {
  if (execution === null) return { tool, decision: "denied", effect: "none", code: "permission_denied" };
  const { error, confirmation } = execution;
  const allowed = confirmation === undefined ? "allowed" : { allowedBy: confirmation.by };
  if (error === undefined) {
    const isHarmless = sideEffects !== undefined && changesNothing(sideEffects);
    return { tool, decision: allowed, effect: isHarmless ? "none" : "committed" };
  }
  const { code, effect } = error;
  return {
    tool,
    decision: DENIALS.has(code) ? "denied" : NOT_RUN.has(code) ? "not run" : allowed,
    effect,
    code,
  };
}

/** Returns the outcome of a call that an earlier process made. */
function earlierWork(tool: string, result: NestedResult, sideEffects: SideEffects | undefined): NestedWork {
  if (!("error" in result)) {
    const isHarmless = sideEffects !== undefined && changesNothing(sideEffects);
    return { tool, decision: "allowed", effect: isHarmless ? "none" : "committed" };
  }
  const { code, effect } = result.error;
  const isDenied = (DENIALS as ReadonlySet<string>).has(code);
  return { tool, decision: isDenied ? "denied" : "allowed", effect, code: code as ErrorCode };
}
