import type { Context } from "@restatedev/restate-sdk";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { receiveCall } from "../../engine/call.ts";
import { callKey } from "../../record/identity.ts";
import { interruptedExecution, unconfirmedExecution } from "../../sessions/calls/ended-calls.ts";
import type { Confirmation, NewConfirmation, Resolution } from "../../sessions/confirmations/confirmation.ts";
import type { ConfirmationBroker, Confirmer } from "../../sessions/confirmations/confirmation-broker.ts";
import type { CallGates, DurableCall } from "../../sessions/durable-runtime.ts";
import { withinMessage } from "../store/store-client.ts";
import type { Attempts } from "./attempts.ts";
import type { Answered, Stop } from "./gated-dispatch.ts";

/** What a durable call needs of the process in which it runs. */
export interface CallProcess {
  readonly attempts: Attempts;
  /** Dispatches a call between its gates. Rejects only if it cannot be dispatched here now. */
  dispatch(call: DurableCall, gates: CallGates): Promise<ToolExecution | null>;
  /** Whether the tool of a call was suspended by a process that is gone, so that it continues from there. */
  isSuspended(call: DurableCall): Promise<boolean>;
  /** How far the clock of Restate is ahead of that of the process, in ms. */
  readonly skewMs: number;
  /** Asks people about what the tool of a call does while it runs. */
  readonly confirmations: Confirmer & Pick<ConfirmationBroker, "abandonBelow">;
  /**
   * Opens a confirmation whose resolution completes an awakeable. Returns `undefined` if too many confirmations are open. Steps of
   * its own are stored in the invocation.
   */
  openConfirmation(
    ctx: Context,
    question: NewConfirmation,
    options: { readonly timeoutMs: number; readonly awakeable: string },
  ): Promise<Confirmation | undefined>;
  /** Ends a confirmation that was not answered in time. Returns the resolution that was first. */
  expireConfirmation(ctx: Context, confirmation: Confirmation): Promise<Resolution>;
  /** Takes a confirmation off the list of those that are open, whose session was closed. */
  unlistConfirmation(ctx: Context, confirmation: Confirmation): Promise<void>;
}

/**
 * Runs a call as an invocation of Restate. Its steps are stored one by one: `decide` (what the policy says, as often as a
 * person is asked, and in the end the record that this attempt runs the call), `effect` (its outcome). A call that another
 * attempt has begun, and whose end is not stored, runs again only if that has no further effect; otherwise it ends as
 * interrupted, with the effect `unknown`.
 */
export async function runDurableCall(
  ctx: Context,
  call: DurableCall,
  process: CallProcess,
): Promise<ToolExecution | null> {
  const { id, attemptCompletedSignal } = ctx.request();
  const { token, dispatch, leave } = process.attempts.open(id, call, {
    idempotencyKey: callKey({ ...call, callId: call.call.id }),
    start: (gates, isSuspended) =>
      process.dispatch(isSuspended ? { ...call, isSuspended: true } : call, gates),
    confirmations: process.confirmations,
  });
  attemptCompletedSignal.addEventListener("abort", leave, { once: true });
  const answers: Answered[] = [];
  let isRepeatable: boolean;
  /** The attempt that may run the call. */
  let holder: string;
  for (;;) {
    const stop = await ctx.run("decide", async () => withToken(await dispatch.advance(answers), token));
    if (stop.kind === "ended") return end(stop.execution);
    // A denial counts on every server, even on one that would not have asked.
    const refused = answers.find(({ resolution }) => resolution?.decision !== "allow");
    if (refused !== undefined) {
      dispatch.abandon();
      return end(unconfirmedExecution(receiveCall(call.call), refused.resolution));
    }
    if (stop.kind === "begins") {
      ({ isRepeatable, holder } = stop);
      break;
    }
    answers.push(await ask(ctx, stop.question, stop.timeoutMs, process));
  }
  return end(
    await ctx.run("effect", async () => {
      const isBegunHere = holder === token;
      const goesOn = !isBegunHere && (await process.isSuspended(call));
      const isOver = !isBegunHere && !isRepeatable && !goesOn;
      const execution = isOver
        ? interruptedExecution(receiveCall(call.call))
        : await dispatch.run(answers, goesOn);
      // Before the end is stored: an answer to what its tool asked, in any process, would not count any more.
      if (!isBegunHere || dispatch.hasAsked)
        await process.confirmations.abandonBelow({ ...call, callId: call.call.id });
      return storable(execution);
    }),
  );

  function end(execution: ToolExecution | null): ToolExecution | null {
    process.attempts.end(id);
    return execution;
  }
}

/** Returns an execution as it is stored: cut if it is too long. */
function storable(execution: ToolExecution | null): ToolExecution | null {
  const [short = null] = withinMessage([execution]);
  return short;
}

/** The decision to begin is stored together with the attempt that may do so: one message to Restate, in place of two. */
type StoredStop =
  | Exclude<Stop, { kind: "begins" }>
  | (Extract<Stop, { kind: "begins" }> & { readonly holder: string });

function withToken(stop: Stop, token: string): StoredStop {
  if (stop.kind === "ended") return { ...stop, execution: storable(stop.execution) };
  return stop.kind === "begins" ? { ...stop, holder: token } : stop;
}

async function ask(
  ctx: Context,
  question: NewConfirmation,
  timeoutMs: number,
  process: CallProcess,
): Promise<Answered> {
  const { id: awakeable, promise } = ctx.awakeable<Resolution>();
  const confirmation = await process.openConfirmation(ctx, question, { timeoutMs, awakeable });
  if (confirmation === undefined) return { question };
  try {
    // The SDK makes it a time of the clock of this process, which Restate compares with its own. If
    // that of the process is ahead, the timer fires late, and the next reader of the list of confirmations ends this one.
    const resolution = await promise.orTimeout(Math.max(timeoutMs + process.skewMs, 0));
    if (resolution.decision === "cancelled") await process.unlistConfirmation(ctx, confirmation);
    return { question, confirmation, resolution };
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return { question, confirmation, resolution: await process.expireConfirmation(ctx, confirmation) };
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}
