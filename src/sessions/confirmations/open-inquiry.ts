import type { MaybePromise } from "../../base/promises.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Inquiry, Resolution } from "./inquiry.ts";

/**
 * Checks arguments that a person wrote in place of those that were shown.
 *
 * @returns why they cannot be used, as a text for the person; `undefined` if they can.
 */
export type CheckArguments = (edited: JsonValue) => MaybePromise<string | undefined>;

/** How the caller waits for an answer. */
export interface AskOptions {
  /** Milliseconds for which an answer is waited for, if fewer than for all inquiries. Default: as long. */
  readonly timeoutMs?: number;
  /** Whether to wait if too many inquiries are open, since the time of the caller stands still. Default: `false`. */
  readonly awaitsRoom?: boolean;
  /** Cancels the inquiry. Default: it is not cancelled. */
  readonly signal?: AbortSignal;
  /**
   * Called when the signal is aborted: whether the inquiry stays open nevertheless, so that it is open again after a
   * restart. Default: it does not.
   */
  readonly staysOpen?: () => boolean;
  /** Default: answers with other arguments are not accepted. */
  readonly checkArguments?: CheckArguments;
  /** Called with the inquiry before it is waited for, also with one of an earlier process. Default: not called. */
  readonly onAsked?: (inquiry: Inquiry) => void;
}

/** An inquiry that waits for an answer. One of an earlier process waits without a caller until its call is dispatched. */
export class OpenInquiry {
  readonly inquiry: Inquiry;
  /** How the inquiry ended, as soon as it has. */
  resolution: Resolution | undefined;
  checkArguments: CheckArguments | undefined;
  #resolve: ((resolution: Resolution) => void) | undefined;
  #stopListening: (() => void) | undefined;

  constructor(inquiry: Inquiry, resolution?: Resolution) {
    this.inquiry = inquiry;
    this.resolution = resolution;
  }

  /**
   * Resolves when the inquiry has ended.
   *
   * @param cancel Called if the signal is aborted first.
   */
  wait({ signal, staysOpen, checkArguments }: AskOptions, cancel: () => void): Promise<Resolution> {
    if (this.resolution !== undefined) return Promise.resolve(this.resolution);
    this.checkArguments = checkArguments;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (signal === undefined) return;
      const onAbort = (): void => {
        if (staysOpen?.() !== true) cancel();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#stopListening = () => signal.removeEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
    });
  }

  /** Ends the inquiry. Returns `false` if it had ended before. */
  settle(resolution: Resolution): boolean {
    if (this.resolution !== undefined) return false;
    this.resolution = resolution;
    this.#stopListening?.();
    this.#resolve?.(resolution);
    return true;
  }
}
