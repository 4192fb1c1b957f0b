import { adopt, isThenable } from "../../base/promises.ts";
import type { Inquiry, Resolution } from "./inquiry.ts";

/** What happens to inquiries. */
export type InquiryEvent =
  | { readonly type: "requested"; readonly inquiry: Inquiry }
  | { readonly type: "resolved"; readonly inquiry: Inquiry; readonly resolution: Resolution };

/** Called for every event, also for inquiries that were open before. Errors are ignored. */
export type InquiryListener = (event: InquiryEvent) => void;

/** Tells listeners what happens to inquiries. */
export class InquiryListeners {
  /** Replaced, never changed: listeners can be added and removed while they are called. */
  #listeners: readonly InquiryListener[] = [];

  /** Adds a listener, after it was told of the open inquiries. Returns a function that removes it. */
  add(listener: InquiryListener, open: Iterable<Inquiry>): () => void {
    for (const inquiry of open) call(listener, { type: "requested", inquiry });
    // Wrapped, so that the same function can listen twice.
    const added: InquiryListener = (event) => listener(event);
    this.#listeners = [...this.#listeners, added];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== added);
    };
  }

  emit(event: InquiryEvent): void {
    for (const listener of this.#listeners) call(listener, event);
  }
}

function call(listener: InquiryListener, event: InquiryEvent): void {
  try {
    const answer: unknown = listener(Object.freeze(event));
    // An unhandled rejection would end the process.
    if (isThenable(answer)) adopt(answer).catch(() => {});
  } catch {
    // A listener must not affect the inquiry.
  }
}
