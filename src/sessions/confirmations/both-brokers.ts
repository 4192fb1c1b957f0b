import type { MaybePromise } from "../../base/promises.ts";
import type { AnswerOutcome, InquiryAnswer } from "./answer.ts";
import type { CallKey, Inquiry, InquiryRecord, NewInquiry, Resolution } from "./inquiry.ts";
import type { InquiryBroker } from "./inquiry-broker.ts";
import type { InquiryListener } from "./inquiry-listeners.ts";
import type { AskOptions } from "./open-inquiry.ts";

/** Two brokers as one: that of the sessions of this process alone, and that of the sessions of all processes. */
export class BothBrokers implements InquiryBroker {
  readonly timeoutMs: number;
  readonly #own: InquiryBroker;
  readonly #shared: InquiryBroker;
  readonly #isOwn: (sessionId: string) => boolean;

  constructor(own: InquiryBroker, shared: InquiryBroker, isOwn: (sessionId: string) => boolean) {
    this.timeoutMs = shared.timeoutMs;
    this.#own = own;
    this.#shared = shared;
    this.#isOwn = isOwn;
  }

  #of({ sessionId }: Pick<CallKey, "sessionId">): InquiryBroker {
    return this.#isOwn(sessionId) ? this.#own : this.#shared;
  }

  ask(question: NewInquiry, options?: AskOptions): Promise<Resolution | "nobody"> {
    return this.#of(question).ask(question, options);
  }

  earlier(call: CallKey): MaybePromise<readonly InquiryRecord[]> {
    return this.#of(call).earlier(call);
  }

  async answer(id: string, given: InquiryAnswer): Promise<AnswerOutcome> {
    const outcome = await this.#own.answer(id, given);
    return outcome.outcome === "unknown" ? this.#shared.answer(id, given) : outcome;
  }

  abandon(call: CallKey): Promise<void> {
    return this.#of(call).abandon(call);
  }

  abandonBelow(call: CallKey): Promise<void> {
    return this.#of(call).abandonBelow(call);
  }

  async find(id: string): Promise<InquiryRecord | undefined> {
    return (await this.#own.find(id)) ?? this.#shared.find(id);
  }

  open(accepts?: (inquiry: Inquiry) => boolean): readonly Inquiry[] {
    return [...this.#own.open(accepts), ...this.#shared.open(accepts)].sort((a, b) => a.askedAt - b.askedAt);
  }

  on(listener: InquiryListener): () => void {
    const removals = [this.#own.on(listener), this.#shared.on(listener)];
    return () => {
      for (const remove of removals) remove();
    };
  }

  async restore(asksAgain?: (inquiry: Inquiry) => boolean): Promise<readonly InquiryRecord[]> {
    const own = await this.#own.restore(asksAgain);
    return [...own, ...(await this.#shared.restore(asksAgain))];
  }

  close(): void {
    this.#own.close();
    this.#shared.close();
  }
}
