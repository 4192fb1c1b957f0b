import { namesIn } from "../line/call-parts.ts";
import type { JournalEntry } from "../line/entry.ts";

/** The records of ends whose calls are looked for. */
export class CallEnds {
  /** By the names of the call, the first end last. Calls can have the same names, one after the other. */
  readonly #ends = new Map<string, JournalEntry[]>();
  /** The calls that began in what was read forwards, and have not ended there. */
  readonly #begun = new Map<string, number>();

  /** Takes records that come after the calls, in the order of the journal. */
  readForwards(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      const key = keyOf(entry);
      const begun = this.#begun.get(key) ?? 0;
      if (entry.type === "tool.call.dispatched") this.#begun.set(key, begun + 1);
      else if (entry.type !== "tool.call.ended") continue;
      else if (begun > 0) this.#begun.set(key, begun - 1);
      else this.#ends.set(key, [entry, ...(this.#ends.get(key) ?? [])]);
    }
  }

  /** Takes an end when records are read backwards, before its call. */
  add(end: JournalEntry): void {
    const key = keyOf(end);
    const ends = this.#ends.get(key);
    if (ends === undefined) this.#ends.set(key, [end]);
    else ends.push(end);
  }

  /** Returns the end of a call, once; `undefined` if it was not read. */
  take(begin: JournalEntry): JournalEntry | undefined {
    const key = keyOf(begin);
    const ends = this.#ends.get(key);
    const end = ends?.pop();
    if (ends?.length === 0) this.#ends.delete(key);
    return end;
  }
}

/** Whether a record is the end of a call. Other calls can have the same names, before and after it. */
export function isEndOf(end: JournalEntry, begin: JournalEntry): boolean {
  return end.type === "tool.call.ended" && end.seq > begin.seq && keyOf(end) === keyOf(begin);
}

function keyOf(entry: JournalEntry): string {
  const { session, turn, message, tool_call_id: callId, tool } = namesIn(entry);
  return JSON.stringify([session, turn, message, callId, tool]);
}
