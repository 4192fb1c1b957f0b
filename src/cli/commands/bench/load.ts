import { setTimeout as sleep } from "node:timers/promises";

/** How calls are made. */
export interface Load {
  /** Calls per second that begin, however long they take; `undefined` if `concurrency` calls run at any time. */
  readonly rate: number | undefined;
  readonly concurrency: number;
  /** How long new calls begin, in milliseconds. */
  readonly durationMs: number;
  /** Maximum number of calls. Default: as many as begin within the time. */
  readonly calls: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes one call.
 *
 * @param index Counts the calls from 0.
 * @param dueAt When the call was to begin, as of `performance.now()`: a call that begins late has waited since then.
 */
type MakeCall = (index: number, dueAt: number) => Promise<void>;

/** What a load came to. */
interface LoadResult {
  readonly calls: number;
  /** From the first call's beginning to the last one's end, in milliseconds. */
  readonly elapsedMs: number;
  /** Whether calls could not begin any more, since {@link MAX_OUTSTANDING} had not ended. */
  readonly isSaturated: boolean;
}

/**
 * Maximum number of calls that run or wait at a given rate. More would measure the memory of this process.
 */
export const MAX_OUTSTANDING = 10_000;

/** Makes calls until the time is over, their number is reached, or the user interrupts. Waits for those that began. */
export async function makeCalls(load: Load, makeCall: MakeCall): Promise<LoadResult> {
  const startedAt = performance.now();
  const made = await (load.rate === undefined
    ? keepBusy(load, startedAt, makeCall)
    : keepRate(load, load.rate, startedAt, makeCall));
  return { ...made, elapsedMs: performance.now() - startedAt };
}

type Made = Omit<LoadResult, "elapsedMs">;

async function keepBusy(
  { concurrency, durationMs, calls = Number.POSITIVE_INFINITY, signal }: Load,
  startedAt: number,
  makeCall: MakeCall,
): Promise<Made> {
  let begun = 0;
  const worker = async (): Promise<void> => {
    let dueAt = performance.now();
    while (begun < calls && dueAt - startedAt < durationMs && !signal?.aborted) {
      await makeCall(begun++, dueAt);
      // Without it, calls that complete synchronously would starve timers and signals.
      if (begun % 64 === 0) await new Promise(setImmediate);
      dueAt = performance.now();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { calls: begun, isSaturated: false };
}

async function keepRate(
  { durationMs, calls = Number.POSITIVE_INFINITY, signal }: Load,
  rate: number,
  startedAt: number,
  makeCall: MakeCall,
): Promise<Made> {
  const outstanding = new Set<Promise<void>>();
  const total = Math.min(calls, Math.ceil((rate * durationMs) / 1_000));
  let begun = 0;
  let isSaturated = false;
  while (begun < total && !signal?.aborted) {
    const dueAt = startedAt + (begun * 1_000) / rate;
    const early = dueAt - performance.now();
    if (early > 0) {
      // A timer may be a millisecond early.
      await sleep(Math.ceil(early), undefined, { signal }).catch(() => {});
      continue;
    }
    if (outstanding.size >= MAX_OUTSTANDING) {
      isSaturated = true;
      break;
    }
    const call: Promise<void> = makeCall(begun++, dueAt).finally(() => outstanding.delete(call));
    outstanding.add(call);
    if (begun % 64 === 0) await new Promise(setImmediate);
  }
  await Promise.all(outstanding);
  return { calls: begun, isSaturated };
}
