import type { ToolCall } from "./call/call.ts";
import type { DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { type DispatchAllOptions, dispatchEach, receiveCalls } from "./dispatch-all.ts";
import { refuseCall } from "./pipeline.ts";
import { Refusal } from "./refusal.ts";

/** The calls of one assistant message, such as a protocol's `read` returns. */
export interface DispatchableTurn {
  readonly calls: readonly ToolCall[];
}

/** Options of `ToolDispatchEngine.dispatchTurn`. */
export interface DispatchTurnOptions extends DispatchAllOptions {
  /** What happens to the calls of a message that was cut off. Default: `"refuse"`. */
  readonly cutOff?: "refuse" | "run";
}

/**
 * Dispatches the calls of a message, and refuses those that are marked as cut off unless `cutOff` is `"run"`.
 *
 * @returns One result for each call, in the order of the calls.
 */
export async function dispatchCalls(
  turn: DispatchableTurn,
  ctx: DispatchContext,
  { cutOff = "refuse", concurrency }: DispatchTurnOptions,
): Promise<(ToolExecution | null)[]> {
  const given = [...turn.calls];
  const calls = receiveCalls(given);
  const refused = given.map((call) => cutOff !== "run" && isCutOff(call));
  const others = calls.filter((_, index) => !refused[index]);
  const executions = (await dispatchEach(others, ctx, concurrency)).values();
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
