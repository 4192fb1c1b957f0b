import { setTimeout as sleep } from "node:timers/promises";
import type { ToolExecution } from "../engine/call/execution.ts";
import { receiveCall, type ToolCall } from "../engine/call.ts";
import type { SharedBackend } from "../record/backend.ts";
import { type MessageAddress, messageKey } from "../record/identity.ts";
import { cancelledExecution } from "../sessions/calls/ended-calls.ts";
import type { DurableCall } from "../sessions/durable-runtime.ts";
import { SessionStoreError } from "../sessions/session-errors.ts";
import type { CallEntry } from "../sessions/store/recorded-operations.ts";
import type { MessageRecord } from "../sessions/store/store.ts";
import { type AttemptParts, CallAttempt, LostCallError } from "./call-attempt.ts";
import type { RunningMessage } from "./recorded-messages.ts";

type Result = ToolExecution | null;

/** How many calls of a message run at once. */
const MAX_RUNNING = 64;
/** Milliseconds until something that failed is tried again: at first, and at most. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;

/** A message that this process runs. */
interface OwnMessage {
  readonly running: RunningMessage;
  readonly results: Promise<readonly Result[] | undefined>;
  readonly attempts: Set<CallAttempt>;
}

/** Runs the messages that this process owns, and takes over those of processes that are gone. */
export class MessageRuns {
  readonly #parts: AttemptParts;
  readonly #backend: SharedBackend;
  readonly #own = new Map<string, OwnMessage>();
  /** The messages that are being accepted: they are in the store before they are in `#own`. */
  readonly #accepting = new Set<string>();
  readonly #closed = Promise.withResolvers<void>();
  #isClosing = false;

  constructor(parts: AttemptParts, backend: SharedBackend) {
    this.#parts = parts;
    this.#backend = backend;
  }

  /** Accepts a message with a function that stores it, and runs it if it is new. */
  async accept<Known>(
    message: MessageAddress,
    store: () => Promise<Known | RunningMessage>,
  ): Promise<Exclude<Known, RunningMessage> | undefined> {
    const key = messageKey(message);
    this.#accepting.add(key);
    try {
      const accepted = await store();
      if (!isRunning(accepted)) return accepted as Exclude<Known, RunningMessage>;
      this.#start(accepted, false);
      return undefined;
    } finally {
      this.#accepting.delete(key);
    }
  }

  /**
   * Returns the results of a message that this process runs; `undefined` if it does not, or another one
   * continues it.
   */
  async results(message: MessageAddress): Promise<readonly Result[] | undefined> {
    return this.#own.get(messageKey(message))?.results;
  }

  /** Resolves when a message has ended, whichever process runs it. */
  async ended(message: MessageAddress): Promise<void> {
    const { sessionId, turnId, messageId } = message;
    let changed = Promise.withResolvers<void>();
    const stop = this.#backend.watch({ key: ["unfinished", sessionId, turnId, messageId] }, () => {
      changed.resolve();
      changed = Promise.withResolvers();
    });
    try {
      for (;;) {
        const next = changed.promise;
        if (!(await this.#retry(() => this.#parts.messages.isUnderWay(message)))) return;
        await Promise.race([next, this.#closed.promise]);
        if (this.#isClosing) throw new SessionStoreError("this server is ending: ask another one");
      }
    } finally {
      stop();
    }
  }

  /** Cancels the calls of a turn that this process runs. */
  cancel(sessionId: string, turnId: string): void {
    for (const { running, attempts } of this.#own.values()) {
      if (running.sessionId === sessionId && running.turnId === turnId)
        for (const each of attempts) each.cancel();
    }
  }

  /** Cancels the calls whose turn any process has cancelled, or whose session was closed. */
  async cancelCancelled(): Promise<void> {
    const running = Array.from(this.#own.values(), (own) => own.running);
    if (running.length === 0) return;
    const cancelled = await this.#parts.messages.cancelled(running);
    for (const [index, { sessionId, turnId }] of running.entries()) {
      if (cancelled[index] === true) this.cancel(sessionId, turnId);
    }
  }

  /**
   * Looks for messages that this process should run: its own, and those of processes that are gone. Gives up those that another
   * one has taken.
   *
   * @param mayTakeOver Whether this process has reached the store for long enough to know who is gone.
   */
  async scan(mayTakeOver: boolean): Promise<void> {
    const { messages } = this.#parts;
    // In this order: one that joins now, and accepts a message, is known.
    const unfinished = await messages.unfinished();
    const members = await this.#backend.members();
    const found = new Map(unfinished.map((running) => [messageKey(running), running]));
    for (const [key, { attempts }] of this.#own) {
      if (found.get(key)?.owner === this.#backend.member) continue;
      // Ended, removed or taken. What is removed with its session is cancelled.
      if (found.has(key)) for (const attempt of attempts) attempt.abandon();
    }
    for (const [key, running] of found) {
      if (this.#isClosing || this.#own.has(key) || this.#accepting.has(key)) continue;
      if (running.owner === this.#backend.member) this.#start(running, true);
      else if (mayTakeOver && !members.has(running.owner)) {
        const taken = await messages.takeOver(running);
        if (taken !== undefined) this.#start(taken, true);
      }
    }
  }

  /** Lets calls that have begun end, for some time, in ms. All others continue in other processes. */
  async close(drainMs: number): Promise<void> {
    this.#isClosing = true;
    this.#closed.resolve();
    const attempts = (): CallAttempt[] => [...this.#own.values()].flatMap((own) => [...own.attempts]);
    for (const attempt of attempts()) if (!attempt.hasBegun) attempt.abandon();
    const until = performance.now() + drainMs;
    while (attempts().some(({ hasBegun }) => hasBegun) && performance.now() < until) await sleep(20);
    for (const attempt of attempts()) attempt.abandon();
  }

  #start(running: RunningMessage, isTakenOver: boolean): void {
    const key = messageKey(running);
    if (this.#own.has(key)) return;
    const attempts = new Set<CallAttempt>();
    const results = this.#run(running, isTakenOver, attempts)
      .catch((error: unknown) => {
        if (!(error instanceof LostCallError)) throw error;
        return undefined;
      })
      .finally(() => this.#own.delete(key));
    results.catch(() => {});
    this.#own.set(key, { running, results, attempts });
  }

  async #run(
    running: RunningMessage,
    isTakenOver: boolean,
    attempts: Set<CallAttempt>,
  ): Promise<readonly Result[] | undefined> {
    const { messages } = this.#parts;
    if (running.after !== undefined) await this.ended(running.after);
    const read = await this.#retry(() => messages.read(running));
    // The session was closed, or the turn was removed.
    if (read === undefined) return [];
    const { message, states } = read;
    const results = new Array<Result>(message.calls.length).fill(null);
    const left = [...message.calls.entries()].filter(([, { id }]) => states.get(id)?.execution === undefined);
    await this.#runCalls(left, async ([index, call]) => {
      results[index] = await this.#runCall(
        { running, message, call },
        states.get(call.id),
        isTakenOver,
        attempts,
      );
    });
    await this.#retry(() => messages.finish(running));
    // Those that ended in an earlier process are in the store.
    return left.length === message.calls.length ? results : undefined;
  }

  /** Runs calls at once, as far as their tools allow. */
  async #runCalls(
    calls: readonly (readonly [number, ToolCall])[],
    run: (call: readonly [number, ToolCall]) => Promise<void>,
  ): Promise<void> {
    const waiting = [...calls];
    const ofTool = new Map<string, number>();
    let count = 0;
    let failure: { readonly error: unknown } | undefined;
    const done = Promise.withResolvers<void>();
    const next = (): void => {
      if (count === 0 && (waiting.length === 0 || failure !== undefined)) done.resolve();
      if (failure !== undefined) return;
      for (const call of [...waiting]) {
        const { name } = call[1];
        if (count >= MAX_RUNNING) return;
        if ((ofTool.get(name) ?? 0) >= this.#parts.host.placesOf(name)) continue;
        waiting.splice(waiting.indexOf(call), 1);
        count++;
        ofTool.set(name, (ofTool.get(name) ?? 0) + 1);
        void run(call)
          .catch((error: unknown) => {
            failure ??= { error };
          })
          .finally(() => {
            count--;
            ofTool.set(name, (ofTool.get(name) ?? 0) - 1);
            next();
          });
      }
    };
    next();
    await done.promise;
    if (failure !== undefined) throw failure.error;
  }

  async #runCall(
    { running, message, call }: { running: RunningMessage; message: MessageRecord; call: ToolCall },
    state: CallEntry | undefined,
    isTakenOver: boolean,
    attempts: Set<CallAttempt>,
  ): Promise<Result> {
    const { messages, confirmations } = this.#parts;
    const { sessionId, turnId, messageId, userText } = message;
    const durable: DurableCall = {
      sessionId,
      turnId,
      messageId,
      call,
      ...(userText !== undefined && { userText }),
      ...running.extras,
    };
    const place = { sessionId, turnId, messageId, callId: call.id };
    const [isCancelled] = await this.#retry(() => messages.cancelled([message]));
    const earlier = isTakenOver ? await this.#retry(() => confirmations.earlier(place)) : [];
    let execution: Result;
    if (isCancelled === true && state?.isClaimed !== true) {
      execution = cancelledExecution(receiveCall(call));
      for (const { confirmation } of earlier) await this.#retry(() => confirmations.cancel(confirmation));
    } else execution = await this.#dispatch(durable, state, earlier, attempts);
    if (!(await this.#retry(() => messages.end(durable, execution)))) {
      throw new LostCallError("the call continues in another process");
    }
    return execution;
  }

  /** Dispatches a call, again and again if that cannot be done here now. */
  async #dispatch(
    call: DurableCall,
    state: CallEntry | undefined,
    earlier: Awaited<ReturnType<AttemptParts["confirmations"]["earlier"]>>,
    attempts: Set<CallAttempt>,
  ): Promise<Result> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      if (this.#isClosing) throw new LostCallError("the process is ending");
      const attempt = new CallAttempt(this.#parts, call, state, earlier);
      attempts.add(attempt);
      try {
        return await attempt.run();
      } catch (error) {
        if (error instanceof LostCallError || attempt.hasBegun) {
          throw error instanceof LostCallError ? error : new LostCallError(String(error));
        }
      } finally {
        attempts.delete(attempt);
      }
      await sleep(pauseMs);
    }
  }

  /** Does something that the store may fail to do, until it does it or this process ends. */
  async #retry<Value>(action: () => Value | Promise<Value>): Promise<Value> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof SessionStoreError)) throw error;
        if (this.#isClosing) throw new LostCallError(error.message);
      }
      await sleep(pauseMs);
    }
  }
}

function isRunning(value: unknown): value is RunningMessage {
  return typeof value === "object" && value !== null && "owner" in value;
}
