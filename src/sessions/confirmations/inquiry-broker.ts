import type { MaybePromise } from "../../base/promises.ts";
import type { AnswerOutcome, InquiryAnswer } from "./answer.ts";
import type { CallKey, Inquiry, InquiryRecord, NewInquiry, Resolution } from "./inquiry.ts";
import type { InquiryListener } from "./inquiry-listeners.ts";
import type { AskOptions } from "./open-inquiry.ts";

/** Asks people about calls. */
export interface Asking {
  /** How long an inquiry waits for an answer, in ms. */
  readonly timeoutMs: number;
  /**
   * Asks a person, and waits for the answer, the time-out or the signal. If an earlier process has asked the same, its
   * inquiry or its answer is used; a denial is used whatever it has asked about the call.
   *
   * @returns how it ended; `"nobody"` if too many inquiries are open.
   */
  ask(question: NewInquiry, options?: AskOptions): Promise<Resolution | "nobody">;
  /**
   * Returns what an earlier process asked about a call, with the answers that there are: until the call has ended, they hold
   * whatever the policy says now. Empty for calls that this process asked about. Returns a promise only if it has to read.
   */
  earlier(call: CallKey): MaybePromise<readonly InquiryRecord[]>;
}

/** Asks people for sessions. The answer that is written first decides, by any person and over any route. */
export interface InquiryBroker extends Asking {
  /** Answers an inquiry. Rejects if the answer cannot be written, or its signal is aborted; the inquiry is open then. */
  answer(id: string, given: InquiryAnswer): Promise<AnswerOutcome>;
  /** Cancels the inquiries of an earlier process about a call that will not ask, for example since it has ended. */
  abandon(call: CallKey): Promise<void>;
  /** Cancels the inquiries of an earlier process about calls of a call's tool, which has ended. */
  abandonBelow(call: CallKey): Promise<void>;
  /** Returns an inquiry, open or resolved; `undefined` if it is unknown. */
  find(id: string): Promise<InquiryRecord | undefined>;
  /**
   * Returns the open inquiries, the oldest first.
   *
   * @param accepts Which inquiries. Default: all.
   */
  open(accepts?: (inquiry: Inquiry) => boolean): readonly Inquiry[];
  /** Adds a listener, after it was told of the open inquiries. Returns a function that removes it. */
  on(listener: InquiryListener): () => void;
  /**
   * Opens the inquiries of an earlier process again.
   *
   * @param asksAgain Whether the tool that made a nested call goes on, so that the call asks again. Default: none does.
   * @returns what people answered, and may not have been applied before the earlier process died.
   */
  restore(asksAgain?: (inquiry: Inquiry) => boolean): Promise<readonly InquiryRecord[]>;
  /** Stops the timers. The inquiries stay open in the store. */
  close(): void;
}
