import { setTimeout as sleep } from "node:timers/promises";
import type { Wire } from "./wire.ts";

const FIRST_PAUSE_MS = 500;

/** The longest pause. A subscription that lasts longer has the next one opened after the first pause again. */
const LONGEST_PAUSE_MS = 60_000;

/**
 * Keeps a subscription to changes of lists open for as long as the wire is. One that the server closes, or that breaks, is
 * opened again after a pause that doubles.
 *
 * @param onReopened Called after each pause: changes may have been missed.
 * @throws if the server refuses the first one.
 */
export async function keepSubscribed(wire: Wire, signal: AbortSignal, onReopened: () => void): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  for (let subscription = await wire.listen(); ; ) {
    const openedAt = performance.now();
    const end = await subscription?.closed;
    if (end === undefined || end === "local") return;
    if (performance.now() - openedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
    do {
      await sleep(pauseMs, undefined, { signal, ref: false });
      if (wire.isClosed) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      subscription = await wire.listen().catch(() => undefined);
    } while (subscription === undefined);
    onReopened();
  }
}
