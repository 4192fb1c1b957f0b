import type { DispatchEvent } from "../../../engine/call/events.ts";
import type { CallProgress } from "../../../engine/reporting/progress.ts";
import type { CallOrigin, CallRecord } from "./call-record.ts";

/** The names of a call, and what else tells it from another one that has the same. */
export interface NamedCall {
  readonly key: string;
  /** Absent for events that are not of the call itself, such as those about questions to people. */
  readonly progress: CallProgress | undefined;
  readonly requestId?: string | undefined;
}

/** The calls that have not ended. Several can have the same names at the same time. */
export class RunningCalls {
  readonly #byKey = new Map<string, CallRecord[]>();

  add(record: CallRecord, progress: CallProgress | undefined): void {
    const same = this.#byKey.get(record.key);
    if (same === undefined) this.#byKey.set(record.key, [record]);
    else same.push(record);
    record.progress = progress;
  }

  delete(record: CallRecord): void {
    const same = this.#byKey.get(record.key);
    const at = same?.indexOf(record) ?? -1;
    if (same === undefined || at < 0) return;
    if (same.length === 1) this.#byKey.delete(record.key);
    else same.splice(at, 1);
  }

  /** Returns the call that something happens to. */
  find({ key, progress, requestId }: NamedCall): CallRecord | undefined {
    const same = this.#byKey.get(key);
    if (same === undefined) return undefined;
    if (progress !== undefined) {
      const own = same.find((record) => record.progress === progress);
      if (own !== undefined) return own;
      const unclaimed = same.find((record) => record.progress === undefined);
      if (unclaimed !== undefined) unclaimed.progress = progress;
      return unclaimed;
    }
    const asked = requestId === undefined ? undefined : same.find((record) => record.requestId === requestId);
    // A question is about a call that does not wait for another one.
    return (
      asked ?? same.findLast(({ state }) => requestId === undefined || state === "running") ?? same.at(-1)
    );
  }
}

/** An id of a call holds within its session. A character that no id of a session has keeps the two apart. */
export function keyOf(
  origin: CallOrigin,
  { sessionId, callId }: Pick<DispatchEvent, "sessionId" | "callId">,
): string {
  return `${origin} ${sessionId.length} ${sessionId} ${callId}`;
}
