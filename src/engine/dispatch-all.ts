import { type ReceivedCall, receiveCall } from "./call/call.ts";
import type { DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { repeatedIds, twiceText } from "./call/repeated-ids.ts";
import { dispatchCall } from "./pipeline.ts";

/** Options of `ToolDispatchEngine.dispatchAll`. */
export interface DispatchAllOptions {
  /**
   * How many calls of tools without changes (`sideEffects` of `"none"` or `"read"`) may run at once, if they follow
   * each other in the list. An integer of at least 1; 1 runs all calls one after the other. Default: 4.
   */
  readonly concurrency?: number;
}

const DEFAULT_CONCURRENCY = 4;

/**
 * Dispatches calls in order. A call that may change something runs alone: it starts when all earlier calls have
 * ended, and later calls wait for it. Calls with one id do not run: a result could be for any of them.
 *
 * @returns One result for each call, in the order of the calls.
 */
export async function dispatchEach(
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
export function receiveCalls(calls: readonly unknown[]): readonly ReceivedCall[] {
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
export function checkConcurrency(concurrency: number | undefined): void {
  if (concurrency === undefined || (Number.isInteger(concurrency) && concurrency >= 1)) return;
  throw new TypeError(`concurrency must be an integer of at least 1, not ${String(concurrency)}`);
}
