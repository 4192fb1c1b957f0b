import { adopt, isThenable, type MaybePromise } from "../../base/promises.ts";
import type { AnswerOutcome, PersonAnswer } from "./answer.ts";
import type {
  CallKey,
  Confirmation,
  ConfirmationRecord,
  NewConfirmation,
  Resolution,
} from "./confirmation.ts";
import type { AskOptions } from "./open-confirmations.ts";

/** Asks people about calls. */
export interface Confirmer {
  /** How long a confirmation waits for an answer, in ms. */
  readonly timeoutMs: number;
  /**
   * Asks a person, and waits for the answer, the time-out or the signal. If an earlier process has asked the same, its
   * confirmation or its answer is used; a denial is used whatever it has asked about the call.
   *
   * @returns how it ended; `"nobody"` if too many confirmations are open.
   */
  ask(question: NewConfirmation, options?: AskOptions): Promise<Resolution | "nobody">;
  /**
   * Returns the confirmations of a call by an earlier process, with their answers, if any: until the call has ended, they apply
   * whatever the policy says now. Empty for calls that this process asked about. Returns a promise only if it has to read.
   */
  earlier(call: CallKey): MaybePromise<readonly ConfirmationRecord[]>;
}

/** Asks people for sessions. The answer that is written first decides, by any person and over any route. */
export interface ConfirmationBroker extends Confirmer {
  /** Answers a confirmation. Rejects if the answer cannot be written, or its signal is aborted; the confirmation is open then. */
  answer(id: string, given: PersonAnswer): Promise<AnswerOutcome>;
  /** Cancels the confirmations of an earlier process about a call that will not ask, for example since it has ended. */
  abandon(call: CallKey): Promise<void>;
  /** Cancels the confirmations of an earlier process about calls of a call's tool, which has ended. */
  abandonBelow(call: CallKey): Promise<void>;
  /** Returns a confirmation, open or resolved; `undefined` if it is unknown. */
  find(id: string): Promise<ConfirmationRecord | undefined>;
  /**
   * Returns the open confirmations, the oldest first.
   *
   * @param accepts Which confirmations. Default: all.
   */
  open(accepts?: (confirmation: Confirmation) => boolean): readonly Confirmation[];
  /** Adds a listener, after it was notified of the open confirmations. Returns a function that removes it. */
  on(listener: ConfirmationListener): () => void;
  /**
   * Opens the confirmations of an earlier process again.
   *
   * @param asksAgain Whether the tool that made a nested call continues, so that the call asks again. Default: none does.
   * @returns what people answered, and may not have been applied before the earlier process died.
   */
  restore(asksAgain?: (confirmation: Confirmation) => boolean): Promise<readonly ConfirmationRecord[]>;
  /** Stops the timers. The confirmations stay open in the store. */
  close(): void;
}

/** What happens to confirmations. */
export type ConfirmationEvent =
  | { readonly type: "requested"; readonly confirmation: Confirmation }
  | { readonly type: "resolved"; readonly confirmation: Confirmation; readonly resolution: Resolution };

/** Called for every event, also for confirmations that were open before. Errors are ignored. */
export type ConfirmationListener = (event: ConfirmationEvent) => void;

/** Notifies listeners of what happens to confirmations. */
export class ConfirmationListeners {
  /** Replaced, never changed: listeners can be added and removed while they are called. */
  #listeners: readonly ConfirmationListener[] = [];

  /** Adds a listener, after it was notified of the open confirmations. Returns a function that removes it. */
  add(listener: ConfirmationListener, open: Iterable<Confirmation>): () => void {
    for (const confirmation of open) call(listener, { type: "requested", confirmation });
    // Wrapped, so that the same function can listen twice.
    const added: ConfirmationListener = (event) => listener(event);
    this.#listeners = [...this.#listeners, added];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== added);
    };
  }

  emit(event: ConfirmationEvent): void {
    for (const listener of this.#listeners) call(listener, event);
  }
}

function call(listener: ConfirmationListener, event: ConfirmationEvent): void {
  try {
    const answer: unknown = listener(Object.freeze(event));
    // An unhandled rejection would end the process.
    if (isThenable(answer)) adopt(answer).catch(() => {});
  } catch {
    // A listener must not affect the confirmation.
  }
}

/** Two brokers as one: that of the sessions of this process alone, and that of the sessions of all processes. */
export class CombinedBroker implements ConfirmationBroker {
  readonly timeoutMs: number;
  readonly #own: ConfirmationBroker;
  readonly #shared: ConfirmationBroker;
  readonly #isOwn: (sessionId: string) => boolean;

  constructor(own: ConfirmationBroker, shared: ConfirmationBroker, isOwn: (sessionId: string) => boolean) {
    this.timeoutMs = shared.timeoutMs;
    this.#own = own;
    this.#shared = shared;
    this.#isOwn = isOwn;
  }

  #of({ sessionId }: Pick<CallKey, "sessionId">): ConfirmationBroker {
    return this.#isOwn(sessionId) ? this.#own : this.#shared;
  }

  ask(question: NewConfirmation, options?: AskOptions): Promise<Resolution | "nobody"> {
    return this.#of(question).ask(question, options);
  }

  earlier(call: CallKey): MaybePromise<readonly ConfirmationRecord[]> {
    return this.#of(call).earlier(call);
  }

  async answer(id: string, given: PersonAnswer): Promise<AnswerOutcome> {
    const outcome = await this.#own.answer(id, given);
    return outcome.outcome === "unknown" ? this.#shared.answer(id, given) : outcome;
  }

  abandon(call: CallKey): Promise<void> {
    return this.#of(call).abandon(call);
  }

  abandonBelow(call: CallKey): Promise<void> {
    return this.#of(call).abandonBelow(call);
  }

  async find(id: string): Promise<ConfirmationRecord | undefined> {
    return (await this.#own.find(id)) ?? this.#shared.find(id);
  }

  open(accepts?: (confirmation: Confirmation) => boolean): readonly Confirmation[] {
    return [...this.#own.open(accepts), ...this.#shared.open(accepts)].sort((a, b) => a.askedAt - b.askedAt);
  }

  on(listener: ConfirmationListener): () => void {
    const removals = [this.#own.on(listener), this.#shared.on(listener)];
    return () => {
      for (const remove of removals) remove();
    };
  }

  async restore(asksAgain?: (confirmation: Confirmation) => boolean): Promise<readonly ConfirmationRecord[]> {
    const own = await this.#own.restore(asksAgain);
    return [...own, ...(await this.#shared.restore(asksAgain))];
  }

  close(): void {
    this.#own.close();
    this.#shared.close();
  }
}
