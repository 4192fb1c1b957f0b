import type { RestatePromise } from "@restatedev/restate-sdk";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { receiveCall, type ToolCall } from "../../engine/call.ts";
import { cancelledExecution, interruptedExecution } from "../../sessions/calls/ended-calls.ts";
import type { RestateSdk } from "../connection/worker.ts";

/** How many calls of a tool may run at once, for tools that have such a limit. */
export type ToolPlaces = Readonly<Record<string, number>>;

/**
 * How many calls of a message run at once, and of how many that still run more are begun. Waiting for the first of many
 * takes as long as there are many, and is done again after each.
 */
const MAX_RUNNING = 64;
const REFILL_AT = 32;

/** How {@link runCalls} runs the calls of a message. */
export interface CallRunner {
  readonly places: ToolPlaces;
  readonly run: (call: ToolCall, isFirst: boolean) => RestatePromise<ToolExecution | null>;
  /** Whether the turn was cancelled, or the session closed. */
  readonly isEnded: () => Promise<boolean>;
}

/** Runs the calls of a message at once, as far as their tools allow. Returns the results in order. */
export async function runCalls(
  sdk: RestateSdk,
  calls: readonly ToolCall[],
  { places, run, isEnded }: CallRunner,
): Promise<readonly (ToolExecution | null)[]> {
  const results = new Array<ToolExecution | null>(calls.length).fill(null);
  const running = new Map<number, RestatePromise<readonly [number, ToolExecution | null]>>();
  const waiting = new Set(calls.keys());
  const ofTool = new Map<string, number>();
  for (let isFirst = true; waiting.size + running.size > 0; isFirst = false) {
    let left = calls.length > MAX_RUNNING && running.size > REFILL_AT ? 0 : MAX_RUNNING - running.size;
    const free = [...waiting].filter((index) => {
      if (left === 0) return false;
      const { name } = calls[index] as ToolCall;
      const same = ofTool.get(name) ?? 0;
      if (same >= placesOf(places, name)) return false;
      ofTool.set(name, same + 1);
      left--;
      return true;
    });
    const isRefused = !isFirst && free.length > 0 && (await isEnded());
    for (const index of isRefused ? [...waiting] : free) {
      const call = calls[index] as ToolCall;
      waiting.delete(index);
      if (isRefused) results[index] = cancelledExecution(receiveCall(call));
      else running.set(index, run(call, isFirst).map(resultOf(call, index)));
    }
    if (running.size === 0) continue;
    const [index, result] = await sdk.RestatePromise.race([...running.values()]);
    const { name } = calls[index] as ToolCall;
    ofTool.set(name, (ofTool.get(name) as number) - 1);
    running.delete(index);
    results[index] = result;
  }
  return results;
}

function placesOf(places: ToolPlaces, name: string): number {
  return Object.hasOwn(places, name) ? (places[name] as number) : Number.POSITIVE_INFINITY;
}

/** A call whose invocation was killed may have begun. */
function resultOf(
  call: ToolCall,
  index: number,
): (result?: ToolExecution | null, failure?: Error) => readonly [number, ToolExecution | null] {
  return (result, failure) => [
    index,
    failure === undefined ? (result ?? null) : interruptedExecution(receiveCall(call)),
  ];
}
