import type { CallKey, Inquiry } from "./inquiry.ts";
import { isBelow } from "./standing-inquiry.ts";

const NONE: readonly never[] = Object.freeze([]);

/** Inquiries of an earlier process whose calls have not been dispatched again, by their calls. */
export class RestoredInquiries<Entry extends { readonly inquiry: Inquiry }> {
  readonly #byCall = new Map<string, Entry[]>();

  add(entry: Entry): void {
    const key = keyOf(entry.inquiry);
    const known = this.#byCall.get(key);
    if (known === undefined) this.#byCall.set(key, [entry]);
    else known.push(entry);
  }

  /** Returns the inquiries of a call, which stay. */
  of(call: CallKey): readonly Entry[] {
    return this.#byCall.size === 0 ? NONE : (this.#byCall.get(keyOf(call)) ?? NONE);
  }

  /** Removes and returns the inquiries of a call. */
  take(call: CallKey): readonly Entry[] {
    if (this.#byCall.size === 0) return [];
    const key = keyOf(call);
    const entries = this.#byCall.get(key) ?? [];
    this.#byCall.delete(key);
    return entries;
  }

  /** Removes and returns the inquiries of the calls that the tool of a call made, directly or not. */
  takeBelow(call: CallKey): readonly Entry[] {
    const taken = [...this.#byCall.values()].flat().filter(({ inquiry }) => isBelow(inquiry, call));
    for (const { inquiry } of taken) this.#byCall.delete(keyOf(inquiry));
    return taken;
  }
}

function keyOf({ sessionId, turnId, messageId = "", callId }: CallKey): string {
  return JSON.stringify([sessionId, turnId, messageId, callId]);
}
