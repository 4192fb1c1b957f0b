import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type {
  CallKey,
  Confirmation,
  ConfirmationRecord,
  NewConfirmation,
  Resolution,
} from "../../sessions/confirmations/confirmation.ts";
import type { Confirmer } from "../../sessions/confirmations/confirmation-broker.ts";
import type { AskOptions } from "../../sessions/confirmations/open-confirmations.ts";
import type { BeginningCall, CallGates } from "../../sessions/durable-runtime.ts";

/** Where a dispatch has stopped: plain JSON, which is stored before the call continues. */
export type Stop =
  /** A person is to be asked. */
  | { readonly kind: "asks"; readonly question: NewConfirmation; readonly timeoutMs: number }
  /** The call is about to have its effect. */
  | { readonly kind: "begins"; readonly isRepeatable: boolean }
  /** The call has ended without an effect. */
  | { readonly kind: "ended"; readonly execution: ToolExecution | null };

/** The outcome of a question: `resolution` is absent if too many confirmations are open. */
export interface Answered {
  readonly question: NewConfirmation;
  readonly confirmation?: Confirmation;
  readonly resolution?: Resolution;
}

/**
 * Dispatches a call between its gates. Rejects only if the call could not be dispatched here.
 *
 * @param isSuspended Whether an earlier process suspended the call, so that it continues from there.
 */
export type StartDispatch = (gates: CallGates, isSuspended: boolean) => Promise<ToolExecution | null>;

/** What a {@link GatedDispatch} needs. */
export interface GatedDispatchOptions {
  readonly idempotencyKey: string;
  readonly start: StartDispatch;
  /** Asks people once the call has begun: about what its tool does. */
  readonly confirmations: Confirmer;
}

/** How often people are asked about one call before it begins, over all attempts. */
const MAX_QUESTIONS = 8;

/**
 * One dispatch of a call, which stops before each step that must be stored first. A call whose process was lost is dispatched
 * again from the start: answers that were given are used again where the same is asked.
 */
export class GatedDispatch {
  readonly #options: GatedDispatchOptions;
  readonly #cancelling = new AbortController();
  readonly #answers: Answered[] = [];
  /** How many of the answers were given before the dispatch began. */
  #earlierAnswers = 0;
  #isAbandoned = false;
  #isCancelled = false;
  #mayBegin = false;
  #isSuspended = false;
  #hasBegun = false;
  #hasAsked = false;
  #ended: Stop | undefined;
  #hasFailed = false;
  #end: Promise<ToolExecution | null> | undefined;
  #stop = Promise.withResolvers<Stop>();
  #answer: ((answered: Answered) => void) | undefined;
  /** Resolved while Restate is connected. */
  #connection = Promise.withResolvers<void>();
  #begin: (() => void) | undefined;

  constructor(options: GatedDispatchOptions) {
    this.#options = options;
  }

  /**
   * Goes on to the next stop.
   *
   * @param answers Those to the questions at earlier stops, in order.
   * @throws as a rejection, if the call cannot be dispatched here.
   */
  async advance(answers: readonly Answered[]): Promise<Stop> {
    const added = answers.slice(this.#answers.length);
    this.#answers.push(...added);
    if (this.#end === undefined) this.#start();
    // It was cancelled while it waited at the stop before.
    else if (this.#ended !== undefined) return this.#ended;
    else if (this.#answer !== undefined && added.length > 0) {
      const answer = this.#answer;
      this.#answer = undefined;
      this.#stop = Promise.withResolvers();
      answer(added[0] as Answered);
    }
    return this.#stop.promise;
  }

  /**
   * Goes on to the end, with the effect. Throws like {@link advance}.
   *
   * @param isSuspended Whether an earlier process suspended the call. Without effect if it was dispatched here before.
   */
  async run(answers: readonly Answered[], isSuspended: boolean): Promise<ToolExecution | null> {
    this.#mayBegin = true;
    this.#isSuspended = isSuspended;
    const stop = await this.advance(answers);
    if (stop.kind === "asks") {
      // The policy or the tool has changed since the decision that was stored. Nothing has begun.
      this.#answer?.({ question: stop.question });
    }
    this.#begin?.();
    return this.#end as Promise<ToolExecution | null>;
  }

  /** Restate is connected for the call. */
  connect(): void {
    this.#connection.resolve();
  }

  /** Restate is not connected: a suspended program does not continue here, as it may do so in another process. */
  disconnect(): void {
    this.#connection = Promise.withResolvers();
    // Nothing may wait for it.
    this.#connection.promise.catch(() => {});
  }

  /** Restate does not retry the call in this process. */
  giveUp(): void {
    this.#connection.reject(new Error("the call continues in another process"));
  }

  /** Cancels the call: it continues to its end, if it has begun. */
  cancel(): void {
    this.#isCancelled = true;
    this.#cancelling.abort();
  }

  /** Abandons the call, since another process continues it, and reports nothing more of it. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#cancelling.abort();
    // One that waits to begin would wait for ever, and its turn with it.
    this.#begin?.();
  }

  /** Whether the call may have had its effect. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether its tool has asked people, or made calls about which they were asked. */
  get hasAsked(): boolean {
    return this.#hasAsked;
  }

  /** Whether the call was cancelled, and not only given up. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether it can continue from where it is. One that waits for a person begins again when the answer is there. */
  get canGoOn(): boolean {
    return this.#end !== undefined && this.#answer === undefined && !this.#hasFailed;
  }

  #start(): void {
    this.#earlierAnswers = this.#answers.length;
    const end = this.#options.start(this.#gates(), this.#isSuspended);
    this.#end = end;
    end.then(
      (execution) => {
        this.#ended = { kind: "ended", execution };
        this.#stop.resolve(this.#ended);
      },
      (error: unknown) => {
        this.#hasFailed = true;
        this.#stop.reject(error);
      },
    );
    this.#stop.promise.catch(() => {});
  }

  #gates(): CallGates {
    const { idempotencyKey, confirmations } = this.#options;
    const dispatch = this;
    return {
      idempotencyKey,
      signal: this.#cancelling.signal,
      get connected() {
        return dispatch.#connection.promise;
      },
      get isAbandoned() {
        return dispatch.#isAbandoned;
      },
      confirmations: {
        timeoutMs: confirmations.timeoutMs,
        ask: (question, options) => {
          if (!this.#hasBegun) return this.#ask(question, options);
          this.#hasAsked = true;
          return confirmations.ask(question, options);
        },
        earlier: (call) => this.#earlier(call),
      },
      begin: (call) => this.#beginWhenStored(call),
    };
  }

  async #ask(
    question: NewConfirmation,
    { onAsked, timeoutMs }: AskOptions = {},
  ): Promise<Resolution | "nobody"> {
    const known =
      this.#answers.find(({ resolution }) => resolution?.decision === "deny") ??
      this.#answers.find((each) => isSame(each.question, question));
    const answered = known ?? (await this.#askAtStop(question, timeoutMs));
    const { confirmation, resolution } = answered;
    if (confirmation === undefined || resolution === undefined) return "nobody";
    onAsked?.(confirmation);
    return resolution;
  }

  /** What was asked about a call before this dispatch of it began. */
  #earlier(call: CallKey): MaybePromise<readonly ConfirmationRecord[]> {
    // What a tool asked is known to Restate alone. Only a tool that continues asks again.
    if (this.#hasBegun) return this.#isSuspended ? this.#options.confirmations.earlier(call) : [];
    return this.#answers
      .slice(0, this.#earlierAnswers)
      .flatMap(({ question, confirmation, resolution }) =>
        confirmation === undefined || question.callId !== call.callId
          ? []
          : [{ confirmation, ...(resolution && { resolution }) }],
      );
  }

  #askAtStop(
    question: NewConfirmation,
    timeoutMs = this.#options.confirmations.timeoutMs,
  ): Promise<Answered> {
    if (this.#answers.length >= MAX_QUESTIONS) return Promise.resolve({ question });
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.#answer = resolve;
    this.#stop.resolve({ kind: "asks", question, timeoutMs });
    return promise;
  }

  async #beginWhenStored({ isRepeatable }: BeginningCall): Promise<void> {
    if (!this.#mayBegin) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#begin = resolve;
      this.#stop.resolve({ kind: "begins", isRepeatable });
      await promise;
    }
    if (this.#isAbandoned) throw new Error("the call continues in another process");
    this.#hasBegun = true;
  }
}

/** The digest of a question covers what is shown, and by whom and where it is asked. */
function isSame(one: NewConfirmation, other: NewConfirmation): boolean {
  return one.digest === other.digest;
}
