import { performance } from "node:perf_hooks";
import type { OneShotThenable } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import type { DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import type { ReceivedCall } from "./call.ts";
import type { Caller } from "./nested.ts";
import { denial, type Refusal } from "./refusal.ts";
import type { ProgressPhase } from "./reporting/progress.ts";
import { type CallEnd, conclude, fail } from "./result.ts";
import { CallState, shownName } from "./state.ts";
import { checkDeclared, preflight, readArguments } from "./steps/arguments.ts";
import { authorise, narrow } from "./steps/authorise.ts";
import { confirm } from "./steps/confirm.ts";
import { passGate, passLastHook } from "./steps/gate.ts";
import { lookUp } from "./steps/lookup.ts";
import { place } from "./steps/place.ts";
import { record } from "./steps/record.ts";
import { reopen } from "./steps/reopen.ts";
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

/** The steps of every call, in order. A new step is a file in `steps/` and a line here. */
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
