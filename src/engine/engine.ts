import { performance } from "node:perf_hooks";
import type { OneShotThenable } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import { checkContext, type DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { type AssistantMessage, buildToolResultMessages, type ToolMessage } from "./call/messages.ts";
import { type ReceivedCall, receiveCall, repeatedIds, type ToolCall, twiceText } from "./call.ts";
import type { Caller } from "./nested.ts";
import { denial, Refusal } from "./refusal.ts";
import type { ProgressPhase } from "./reporting/progress.ts";
import { type CallEnd, conclude, fail } from "./result.ts";
import { CallState, shownName } from "./state.ts";
import { confirm } from "./steps/confirm.ts";
import { authorise, narrow, passGate, passLastHook } from "./steps/decide.ts";
import { checkDeclared, lookUp, preflight, readArguments } from "./steps/parse.ts";
import { place, reopen } from "./steps/place.ts";
import { record } from "./steps/record.ts";
import { run } from "./steps/run.ts";

/** What a step returns: how the call ends, or `undefined` to continue with the next step. */
type StepResult = CallEnd | undefined;

interface StepSignature {
  // Parameters of methods are bivariant: a step can require a later stage of the call than `CallState`.
  step(call: CallState): StepResult | OneShotThenable<StepResult>;
}

/**
 * One step of a dispatch. It reads the state of the call and sets what its stage adds. It returns a promise only if
 * it has to wait, and throws a `Refusal` to fail the call.
 */
type Step = StepSignature["step"];

/** The steps of every call, in order. A new step is a function in a file of `steps/`, and a line here. */
const STEPS: readonly Step[] = [
  identify, // refuses an invalid principal
  passGate, // asks the hook `onToolCall`
  lookUp, // finds the tool
  readArguments, // parses and validates
  checkDeclared, // confines declared paths to the workspace, and checks declared URLs
  authorise, // asks the policy for a grant
  narrow, // narrows the grant to the caller's, or to the upper bound
  place, // finds the sandbox, and the limits to enforce
  reopen, // opens a call that an earlier process suspended
  preflight, // has the tool check a call that could run
  confirm, // has a person confirm what the policy asks about
  passLastHook, // asks the hook `onToolStart`
  record, // records the call before it runs
  run, // ends the call with the sandbox's outcome
];

/** What the steps are for people who watch calls. */
const PHASES: ReadonlyMap<Step, ProgressPhase> = new Map<Step, ProgressPhase>([
  ...([identify, passGate] as Step[]).map((step) => [step, "gate"] as const),
  ...([lookUp, readArguments, checkDeclared] as Step[]).map((step) => [step, "parse"] as const),
  [authorise as Step, "decide"],
  ...([narrow, place, reopen, preflight] as Step[]).map((step) => [step, "place"] as const),
  [confirm as Step, "wait"],
  [passLastHook as Step, "hook"],
  [record as Step, "record"],
  [run as Step, "sandbox"],
]);

/** Steps that do nothing unless the context has a principal, `confirm`, a journal or `suspensions`. */
const OPTIONAL_STEPS: readonly Step[] = [identify, reopen, confirm, record];
const PLAIN_STEPS: readonly Step[] = STEPS.filter((step) => !OPTIONAL_STEPS.includes(step));

/** Returns the steps of calls in the context: each of them costs a call of a function. */
function stepsFor({ principal, confirm: asks, journal, suspensions }: DispatchContext): readonly Step[] {
  const isPlain =
    principal === undefined && asks === undefined && journal === undefined && suspensions === undefined;
  return isPlain ? PLAIN_STEPS : STEPS;
}

type Result = ToolExecution | null;

/**
 * Takes a call through the steps. Never rejects.
 *
 * @param caller The call whose tool makes this one. Default: the model makes it.
 * @returns `null` if a hook aborts the call.
 */
export function dispatchCall(received: ReceivedCall, ctx: DispatchContext, caller?: Caller): Promise<Result> {
  const result = advance(new CallState(received, ctx, caller, dispatchCall), stepsFor(ctx));
  return result instanceof Promise ? result : Promise.resolve(result);
}

/** Like {@link dispatchCall}, for a call of the model. Returns the result itself if nothing had to wait. */
export function dispatchNow(received: ReceivedCall, ctx: DispatchContext): Result | Promise<Result> {
  return advance(new CallState(received, ctx, undefined, dispatchCall), stepsFor(ctx));
}

/** Fails a call that must not run, as if a step had refused it. Never throws. */
export function refuseCall(received: ReceivedCall, ctx: DispatchContext, refusal: Refusal): ToolExecution {
  return fail(new CallState(received, ctx, undefined, dispatchCall), refusal);
}

/** Runs the remaining steps: without a promise or a closure, until one has to wait. */
function advance(call: CallState, steps: readonly Step[]): Result | Promise<Result> {
  const { progress } = call;
  try {
    for (;;) {
      const step = steps[call.position++];
      if (step === undefined) throw new TypeError("the sandbox returned no outcome");
      if (progress !== undefined) progress.begin(PHASES.get(step) ?? "gate");
      const result = step(call);
      if (result === undefined) continue;
      return result === "abort" || "status" in result ? conclude(call, result) : wait(call, result, steps);
    }
  } catch (thrown) {
    return fail(call, thrown);
  }
}

function wait(call: CallState, later: OneShotThenable<StepResult>, steps: readonly Step[]): Promise<Result> {
  if (call.task === undefined && call.caller === undefined) call.ctx.turn?.waits();
  const resume = (result: StepResult): Result | Promise<Result> => {
    if (result !== undefined) return conclude(call, result);
    call.resumedAt = performance.now();
    return advance(call, steps);
  };
  // Only a true promise can reject.
  if (!(later instanceof Promise)) return later.then(resume);
  return later.then(resume, (thrown: unknown) => fail(call, thrown));
}

/**
 * Refuses a call whose context has a principal that is not valid: `principal` was not set for it.
 *
 * @throws {Refusal} `permission_denied`.
 */
function identify(call: CallState): undefined {
  const { ctx, principal } = call;
  if (ctx.principal === undefined || principal !== undefined) return;
  throw denial(shownName(call), "principal", flawOf(ctx.principal));
}

function flawOf(principal: Principal): string {
  try {
    checkPrincipal(principal);
    return "the context's principal was invalid when the call arrived";
  } catch (thrown) {
    return describeThrown(thrown).message;
  }
}

/** Options of `ToolDispatchEngine.dispatchAll`. */
export interface DispatchAllOptions {
  /**
   * How many calls of tools without changes (`sideEffects` of `"none"` or `"read"`) may run at once, if they follow
   * each other in the list. An integer of at least 1; 1 runs all calls one after the other. Default: 4.
   */
  readonly concurrency?: number;
}

/** Options of `ToolDispatchEngine.dispatchTurn`. */
export interface DispatchTurnOptions extends DispatchAllOptions {
  /** What happens to the calls of a message that was cut off. Default: `"refuse"`. */
  readonly cutOff?: "refuse" | "run";
}

/** The calls of one assistant message, such as a protocol's `read` returns. */
export interface DispatchableTurn {
  readonly calls: readonly ToolCall[];
}

const ALL_NAMES: OptionNames<DispatchAllOptions> = { concurrency: true };

const TURN_NAMES: OptionNames<DispatchTurnOptions> = { concurrency: true, cutOff: true };

/**
 * Dispatches tool calls. It keeps no state between calls, since everything comes with the context: one engine can
 * serve any number of conversations at once.
 */
export class ToolDispatchEngine {
  /**
   * Takes one call through hooks, lookup, parsing, policy and sandbox.
   *
   * @returns The result of the call, or `null` if `hooks.onToolCall` aborted it. An invalid call, and any
   *   error of the tool, a hook, a listener or the policy, gives an execution with an `error`; the promise
   *   does not reject for it.
   * @throws {TypeError} synchronously, if the context is invalid, which is an error of the program: it lacks
   *   `registry`, `policy`, `sandboxes` or `sessionId`, or its `decisionTimeoutMs`, `resultBudget` or
   *   `timeouts` is not valid. The other methods reject then.
   */
  dispatch<Embedder = unknown>(
    call: ToolCall,
    ctx: DispatchContext<Embedder>,
  ): Promise<ToolExecution | null> {
    return dispatchCall(receiveCall(call), checkContext(ctx as DispatchContext));
  }

  /**
   * Dispatches calls in order, and returns one result for each call, in the same order. Calls of tools that change
   * nothing run at the same time if they follow each other; every other call runs alone.
   *
   * @throws {TypeError} if `calls` is not iterable, or `concurrency` or the context is invalid. Invalid calls in the
   *   list have a result like any other call.
   */
  async dispatchAll<Embedder = unknown>(
    calls: readonly ToolCall[],
    ctx: DispatchContext<Embedder>,
    options: DispatchAllOptions = {},
  ): Promise<(ToolExecution | null)[]> {
    const context = checkContext(ctx as DispatchContext);
    refuseUnknown(options, ALL_NAMES, "dispatchAll");
    const { concurrency } = options;
    checkConcurrency(concurrency);
    // A copy: calls that are added to the list meanwhile are not dispatched.
    return dispatchEach(receiveCalls([...calls]), context, concurrency);
  }

  /**
   * Dispatches the calls of one assistant message like {@link dispatchAll}, but does not run calls with `cutOff`: the
   * model had not finished the message, so it may not have meant them to run alone. Such a call fails with `cancelled`
   * and the effect `none`.
   *
   * @returns One result for each call, in the same order.
   * @throws {TypeError} if `turn.calls` is not iterable, or `concurrency` or the context is invalid.
   */
  async dispatchTurn<Embedder = unknown>(
    turn: DispatchableTurn,
    ctx: DispatchContext<Embedder>,
    options: DispatchTurnOptions = {},
  ): Promise<(ToolExecution | null)[]> {
    const context = checkContext(ctx as DispatchContext);
    refuseUnknown(options, TURN_NAMES, "dispatchTurn");
    checkConcurrency(options.concurrency);
    return dispatchCalls(turn, context, options);
  }

  /** Builds the two messages that continue the conversation: see {@link buildToolResultMessages}. */
  buildToolResultMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    turn?: { readonly text?: string },
  ): [AssistantMessage, ToolMessage] {
    return buildToolResultMessages(calls, executions, turn);
  }
}

/**
 * Dispatches the calls of a message, and refuses those that are marked as cut off unless `cutOff` is `"run"`.
 *
 * @returns One result for each call, in the order of the calls.
 */
async function dispatchCalls(
  turn: DispatchableTurn,
  ctx: DispatchContext,
  { cutOff = "refuse", concurrency }: DispatchTurnOptions,
): Promise<(ToolExecution | null)[]> {
  const given = [...turn.calls];
  const calls = receiveCalls(given);
  const refused = given.map((call) => cutOff !== "run" && isCutOff(call));
  const accepted = calls.filter((_, index) => !refused[index]);
  const executions = (await dispatchEach(accepted, ctx, concurrency)).values();
  return calls.map((call, index) =>
    refused[index] ? refuseCall(call, ctx, cutOffRefusal()) : (executions.next().value ?? null),
  );
}

/** The refusal of a call whose message was cut off. */
export function cutOffRefusal(): Refusal {
  return new Refusal("cancelled", "Tool call was not run: its message was cut off");
}

/** Returns whether a call is marked as one of a message that was cut off. Never throws. */
export function isCutOff(call: unknown): boolean {
  try {
    return (call as Partial<ToolCall> | null)?.cutOff === true;
  } catch {
    // An unreadable call fails when it is dispatched.
    return false;
  }
}

const DEFAULT_CONCURRENCY = 4;

/**
 * Dispatches calls in order. A call that may change something runs alone: it starts when all earlier calls have
 * ended, and later calls wait for it. Calls with one id do not run: a result could be for any of them.
 *
 * @returns One result for each call, in the order of the calls.
 */
async function dispatchEach(
  received: readonly ReceivedCall[],
  ctx: DispatchContext,
  concurrency: number = DEFAULT_CONCURRENCY,
): Promise<(ToolExecution | null)[]> {
  const results = new Array<ToolExecution | null>(received.length).fill(null);
  let next = 0;
  const dispatchNext = async (): Promise<void> => {
    const index = next++;
    results[index] = await dispatchCall(received[index] as ReceivedCall, ctx);
  };
  const dispatchUnchanging = async (): Promise<void> => {
    while (changesNothing(received[next], ctx)) await dispatchNext();
  };
  while (next < received.length) {
    if (concurrency > 1 && changesNothing(received[next], ctx)) {
      await Promise.all(
        Array.from({ length: Math.min(concurrency, received.length - next) }, dispatchUnchanging),
      );
    } else await dispatchNext();
  }
  return results;
}

/** Reads calls from unchecked values. Those that have the id of another one are malformed. Never throws. */
function receiveCalls(calls: readonly unknown[]): readonly ReceivedCall[] {
  const received = Array.from(calls, receiveCall);
  const repeated = repeatedIds(received);
  if (repeated.size === 0) return received;
  return received.map((call) =>
    repeated.has(call.id) ? { ...call, problem: call.problem ?? twiceText(call.id) } : call,
  );
}

/** Whether a call's tool declares that it changes nothing. Not so if there is no such call or tool. */
function changesNothing(call: ReceivedCall | undefined, { registry }: DispatchContext): boolean {
  const sideEffects = call && registry.find(call.name)?.subject.sideEffects;
  return sideEffects === "none" || sideEffects === "read";
}

/** @throws {TypeError} unless it is an integer of at least 1. */
function checkConcurrency(concurrency: number | undefined): void {
  if (concurrency === undefined || (Number.isInteger(concurrency) && concurrency >= 1)) return;
  throw new TypeError(`concurrency must be an integer of at least 1, not ${String(concurrency)}`);
}
