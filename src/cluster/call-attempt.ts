import { setTimeout as sleep } from "node:timers/promises";
import type { MaybePromise } from "../base/promises.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import { receiveCall } from "../engine/call.ts";
import { callKey } from "../record/identity.ts";
import { cancelledExecution, interruptedExecution } from "../sessions/calls/ended-calls.ts";
import type {
  CallKey,
  ConfirmationRecord,
  NewConfirmation,
  Resolution,
} from "../sessions/confirmations/confirmation.ts";
import type { AskOptions } from "../sessions/confirmations/open-confirmations.ts";
import type { SharedConfirmations } from "../sessions/confirmations/shared-confirmations.ts";
import type { BeginningCall, CallGates, DurableCall, DurableHost } from "../sessions/durable-runtime.ts";
import { SessionStoreError } from "../sessions/session-errors.ts";
import type { CallEntry } from "../sessions/store/recorded-operations.ts";
import type { RecordedMessages } from "./recorded-messages.ts";

/** How often people are asked about one call before it begins, over all attempts. */
const MAX_QUESTIONS = 8;
/** Milliseconds until something is tried again because the store could not be reached. */
const PAUSE_MS = 200;

/** What an attempt needs of its process. */
export interface AttemptParts {
  readonly messages: RecordedMessages;
  readonly confirmations: SharedConfirmations;
  readonly host: DurableHost;
}

/** Thrown if a call continues in another process, so that nothing of it is to be stored here. */
export class LostCallError extends Error {
  override readonly name = "LostCallError";
}

/** One dispatch of a call, by the server that owns its message. */
export class CallAttempt {
  readonly call: DurableCall;
  readonly #parts: AttemptParts;
  /** What is stored of the call, by an earlier process. */
  readonly #state: CallEntry | undefined;
  /** What earlier processes asked about the call. */
  readonly #earlier: readonly ConfirmationRecord[];
  readonly #used = new Set<string>();
  readonly #aborting = new AbortController();
  #asked: number;
  #hasBegun = false;
  #hasAsked = false;
  #goesOn = false;
  #isAbandoned = false;
  #isCancelled = false;

  /** @param state What is stored of the call; `undefined` if nothing is. */
  constructor(
    parts: AttemptParts,
    call: DurableCall,
    state: CallEntry | undefined,
    earlier: readonly ConfirmationRecord[],
  ) {
    this.#parts = parts;
    this.call = call;
    this.#state = state;
    this.#earlier = earlier;
    this.#asked = earlier.length;
  }

  /** Whether the call may have had its effect. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Cancels the call: it continues to its end, if it has begun. */
  cancel(): void {
    this.#isCancelled = true;
    this.#aborting.abort();
  }

  /** Abandons the call, since another process continues it, and reports nothing more of it. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#aborting.abort();
  }

  /**
   * Runs the call to its end.
   *
   * @throws {LostCallError} if another process continues it, and anything else if it could not be dispatched. Both are rejections.
   */
  async run(): Promise<ToolExecution | null> {
    const { host, confirmations } = this.#parts;
    const isClaimed = this.#state?.isClaimed === true;
    this.#goesOn = isClaimed && (await host.isSuspended(this.call));
    const isOver = isClaimed && !this.#goesOn && this.#state?.isRepeatable !== true;
    let execution: ToolExecution | null;
    if (isOver) execution = interruptedExecution(receiveCall(this.call.call));
    else {
      const call: DurableCall = this.#goesOn ? { ...this.call, isSuspended: true } : this.call;
      execution = await host.dispatch(call, this.#gates());
      if (this.#isAbandoned) throw new LostCallError("the call continues in another process");
      // It could not be recorded as begun, since it is cancelled.
      if (this.#isCancelled && !this.#hasBegun) execution = cancelledExecution(receiveCall(this.call.call));
    }
    // Before the end is stored: an answer to what its tool asked, in any process, would not count any more.
    if (isClaimed || this.#hasAsked)
      await confirmations.abandonBelow({ ...this.call, callId: this.call.call.id });
    for (const { confirmation, resolution } of this.#earlier) {
      if (resolution === undefined && !this.#used.has(confirmation.id))
        await confirmations.cancel(confirmation);
    }
    return execution;
  }

  #gates(): CallGates {
    const attempt = this;
    const { confirmations } = this.#parts;
    return {
      idempotencyKey: callKey({ ...this.call, callId: this.call.call.id }),
      signal: this.#aborting.signal,
      get connected() {
        return attempt.#connected();
      },
      get isAbandoned() {
        return attempt.#isAbandoned;
      },
      confirmations: {
        timeoutMs: confirmations.timeoutMs,
        ask: (question, options) => this.#ask(question, options),
        earlier: (call) => this.#earlierOf(call),
      },
      begin: (beginning) => this.#begin(beginning),
    };
  }

  /** Resolves if this process still owns the call. Rejects if another one does. */
  async #connected(): Promise<void> {
    if (await this.#parts.messages.isOwned(this.call)) return;
    this.abandon();
    throw new LostCallError("the call continues in another process");
  }

  async #begin({ isRepeatable }: BeginningCall): Promise<void> {
    if (!this.#goesOn) {
      const options = { isRepeatable, mayRepeat: this.#state?.isClaimed === true };
      const beginning = await this.#whenReached(() => this.#parts.messages.begin(this.call, options));
      if (beginning === "cancelled") this.cancel();
      if (beginning === "lost" || beginning === "begun") this.abandon();
      if (beginning !== "begins") throw new LostCallError(`the call cannot begin: ${beginning}`);
    } else await this.#connected();
    this.#hasBegun = true;
    if (this.#isAbandoned) throw new LostCallError("the call continues in another process");
  }

  async #ask(question: NewConfirmation, options: AskOptions = {}): Promise<Resolution | "nobody"> {
    const { confirmations } = this.#parts;
    const asking: AskOptions = {
      ...options,
      // The next process has the same confirmation.
      staysOpen: () => this.#isAbandoned || options.staysOpen?.() === true,
    };
    if (this.#hasBegun) {
      this.#hasAsked = true;
      return this.#whenReached(() => confirmations.ask(question, asking));
    }
    const known = this.#knownAnswer(question);
    if (known === undefined && ++this.#asked > MAX_QUESTIONS) return "nobody";
    if (known !== undefined) this.#used.add(known.confirmation.id);
    return this.#whenReached(() => confirmations.ask(question, asking, known));
  }

  /** Does something, again and again if the store cannot be reached, unless the call has ended meanwhile. */
  async #whenReached<Value>(action: () => MaybePromise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof SessionStoreError) || this.#aborting.signal.aborted) throw error;
      }
      await sleep(PAUSE_MS);
    }
  }

  /** What a person denied, or else the same question, open or answered: nobody is asked twice. */
  #knownAnswer(question: NewConfirmation): ConfirmationRecord | undefined {
    const usable = this.#earlier.filter(
      ({ resolution }) => resolution?.decision !== "timeout" && resolution?.decision !== "cancelled",
    );
    return (
      usable.find(({ resolution }) => resolution?.decision === "deny") ??
      usable.findLast(({ confirmation }) => confirmation.digest === question.digest)
    );
  }

  #earlierOf(call: CallKey): MaybePromise<readonly ConfirmationRecord[]> {
    if (this.#hasBegun) return this.#goesOn ? this.#parts.confirmations.earlier(call) : [];
    return call.callId === this.call.call.id ? this.#earlier : [];
  }
}
