import type { MaybePromise } from "../../base/promises.ts";
import { SandgateError } from "../../base/thrown.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { ToolCall } from "../../engine/call.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { DurableMessage, DurableRuntime } from "../durable-runtime.ts";
import { newId } from "../ids.ts";
import type { MessageCallRecord, MessageRecord, SessionStore } from "../store/store.ts";
import { type MessageCall, storedCalls } from "./call-run.ts";
import type { TurnCore } from "./core.ts";
import { cancelledExecution } from "./ended-calls.ts";

/*
 * What becomes of a message that arrives again, since the answer to it was lost, or since it comes from two clients at once.
 * It has the ids of the first one: if its client named only the message, that names the turn, too.
 *
 * - Its calls run once. It gets the results of the first time, waits for them if they are not there yet, and runs only if the
 *   first one could not be stored.
 * - With other calls it is refused (`MessageConflictError`), and so it is without a store, which would have the results.
 * - If its turn was forgotten, it is refused (`ForgottenTurnError`): it may have run.
 *
 * Each store adds a message once, and returns the one that it has. Everything else is here.
 */

/** Maximum number of characters of a turn's id in the id of its message, which has at most 128. */
const MAX_PREFIX = 80;

/** Returns the ids of a message that a client sends: those that it chose, or new ones. */
export function messageIds({
  messageId,
  turnId = messageId ?? newId(),
}: {
  readonly turnId?: string | undefined;
  readonly messageId?: string | undefined;
}): { readonly turnId: string; readonly messageId: string } {
  return { turnId, messageId: messageId ?? `${turnId.slice(0, MAX_PREFIX)}.${newId()}` };
}

/** The part of its session that {@link turnOfMessage} uses. */
interface SessionOfTurns<Turn> {
  readonly durable: unknown;
  turnToRead(id: string, userText: string | undefined): Turn;
  findTurn(id: string): Promise<Turn | undefined>;
  isForgotten(id: string): Promise<boolean>;
  turn(options: { readonly id: string; readonly userText?: string }): Turn;
}

/**
 * Returns the turn of a message that a client sends, which begins now unless it is known; `undefined` if the session is closed.
 *
 * @param id A valid one.
 * @throws {ForgottenTurnError} as a rejection, if the turn was forgotten.
 */
export async function turnOfMessage<Turn>(
  session: SessionOfTurns<Turn>,
  id: string,
  userText: string | undefined,
): Promise<Turn | undefined> {
  // The runtime says whether it has forgotten the turn when it stores the message.
  if (session.durable !== undefined) return session.turnToRead(id, userText);
  const known = await session.findTurn(id);
  if (known !== undefined) return known;
  if (await session.isForgotten(id)) throw forgottenTurn(id);
  try {
    return session.turn({ id, ...(userText !== undefined && { userText }) });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Another message may have begun the turn while the store was asked.
    return session.findTurn(id);
  }
}

/** Thrown if a turn has a message of this id with other calls. */
export class MessageConflictError extends SandgateError {
  override readonly name = "MessageConflictError";
  override readonly code = "message_conflict";
}

/** Thrown if a message was refused since its turn was forgotten. */
export class ForgottenTurnError extends Error {
  override readonly name = "ForgottenTurnError";
}

/** A message of a turn, with the results of its calls. */
export interface StoredMessage {
  readonly id: string;
  readonly calls: readonly ToolCall[];
  /** In the order of the calls; `undefined` for a call that has not ended. */
  readonly executions: readonly (ToolExecution | undefined)[];
}

/** What the messages of a turn need of it. */
interface MessageTurn {
  readonly id: string;
  readonly userText: string | undefined;
  readonly session: { readonly id: string };
}

type Result = ToolExecution | null;

type Results = Result[];

/** The messages of one turn in the store: each is dispatched once. */
export class StoredMessages {
  readonly #turn: MessageTurn;
  readonly #store: SessionStore | undefined;
  /** The messages that are under way, by their ids. */
  readonly #running = new Map<string, Promise<Results>>();
  /** Those of them that are single calls, and functions that return their results. */
  readonly #alone = new Map<string, () => Promise<Results>>();
  /** Without a store: the ids of the messages that were dispatched. */
  readonly #dispatched = new Set<string>();

  constructor(turn: MessageTurn, store: SessionStore | undefined) {
    this.#turn = turn;
    this.#store = store;
  }

  /** Stores a message before it runs. Returns the message that the turn already has with this id. */
  #add(messageId: string, calls: readonly MessageCall[]): MaybePromise<MessageRecord | undefined> {
    const { id: turnId, userText, session } = this.#turn;
    const message = {
      sessionId: session.id,
      turnId,
      messageId,
      receivedAt: Date.now(),
      calls: storedCalls(calls),
    };
    return this.#store?.addMessage(userText === undefined ? message : { ...message, userText });
  }

  /**
   * Runs a call as a message of its own, under an id that no message had before: without a promise before it runs, unless
   * the store needs time.
   *
   * @param run Runs the call. Never rejects.
   * @throws what the store throws, as a rejection.
   */
  first(id: string, call: MessageCall, run: () => Promise<Result>): Promise<Result> {
    try {
      const added = this.#add(id, [call]);
      if (!(added instanceof Promise)) return this.#runFirst(id, run);
      if (this.#store?.isOrdered !== true) return added.then(() => this.#runFirst(id, run));
      // The claim of the call is mostly part of the same commit. Without the message, it fails.
      const result = this.#runFirst(id, run);
      return added.then(() => result);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #runFirst(id: string, run: () => Promise<Result>): Promise<Result> {
    let result: Promise<Result> | undefined;
    // The same message can be sent again while its call begins.
    this.#alone.set(id, async () => {
      await undefined;
      return [(await result) ?? null];
    });
    result = run();
    return result;
  }

  /** Called when a message ends. */
  end(id: string): void {
    this.#alone.delete(id);
  }

  /**
   * Runs a message, unless it ran before: then the results are those of the first time.
   *
   * @param onPersisted Called when the message is stored, or known to be stored.
   * @throws {MessageConflictError} if the message had other calls the first time, or its results were not stored.
   */
  async once(
    id: string,
    calls: readonly MessageCall[],
    run: () => Promise<Results>,
    onPersisted?: () => void,
  ): Promise<Results> {
    const before = this.#underWay(id);
    if (this.#store === undefined) {
      if (this.#dispatched.has(id)) throw dispatchedBefore(id);
      this.#dispatched.add(id);
      onPersisted?.();
      return this.#track(id, run());
    }
    // In the map before the store answers: the same message could come twice at once.
    const { promise, resolve, reject } = Promise.withResolvers<Results>();
    promise.catch(() => {});
    if (before === undefined) this.#running.set(id, promise);
    try {
      const known = await this.#add(id, calls);
      requireSame(known, id, storedCalls(calls));
      onPersisted?.();
      const other = known === undefined ? undefined : this.#underWay(id);
      if (other !== undefined && other !== promise) return await other;
      // The one before could not be stored if this one is new.
      if (known === undefined) this.#running.set(id, promise);
      const results = known === undefined ? await run() : await this.#resultsOf(id, calls);
      resolve(results);
      return results;
    } catch (error) {
      reject(error);
      throw error;
    } finally {
      if (this.#running.get(id) === promise) this.#running.delete(id);
    }
  }

  /** The results of a message that is under way. */
  #underWay(id: string): Promise<Results> | undefined {
    return this.#running.get(id) ?? this.#alone.get(id)?.();
  }

  /** Continues a message of an earlier process. Resolves to the results of all its calls. */
  resume(id: string, run: () => Promise<unknown>): Promise<Results> {
    return this.#track(
      id,
      run().then(async () => {
        const calls = await this.#calls(id);
        return calls.map(({ execution = null }) => execution);
      }),
    );
  }

  async #track(id: string, results: Promise<Results>): Promise<Results> {
    this.#running.set(id, results);
    try {
      return await results;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Of a message that ended before. Calls that were never stored have no result. */
  async #resultsOf(id: string, calls: readonly MessageCall[]): Promise<Results> {
    const ended = new Map((await this.#calls(id)).map(({ callId, execution }) => [callId, execution]));
    return calls.map(({ id: callId }) => ended.get(callId) ?? null);
  }

  async #calls(messageId: string): Promise<readonly MessageCallRecord[]> {
    return (await this.#store?.calls(this.#turn.session.id, this.#turn.id, messageId)) ?? [];
  }

  async list(): Promise<readonly StoredMessage[]> {
    const records = (await this.#store?.messages(this.#turn.session.id, this.#turn.id)) ?? [];
    return Promise.all(records.map((record) => this.#withResults(record)));
  }

  /** See `Turn.messagesAfter`. */
  async after(messageId: string | undefined): Promise<AsyncIterable<StoredMessage> | undefined> {
    const records = (await this.#store?.messages(this.#turn.session.id, this.#turn.id)) ?? [];
    const before = records.findIndex((record) => record.messageId === messageId);
    if (before === -1 && messageId !== undefined) return undefined;
    return this.#eachWithResults(records.slice(before + 1));
  }

  async *#eachWithResults(records: readonly MessageRecord[]): AsyncGenerator<StoredMessage> {
    for (const record of records) yield await this.#withResults(record);
  }

  async #withResults({ messageId: id, calls }: MessageRecord): Promise<StoredMessage> {
    const states = await this.#calls(id);
    // A session that is being closed has lost its calls: they have no result, and not no calls.
    return Object.freeze({ id, calls, executions: calls.map((_, index) => states[index]?.execution) });
  }
}

/** @throws {MessageConflictError} if the turn had a message with this id and other calls. */
function requireSame(known: MessageRecord | undefined, id: string, calls: readonly ToolCall[]): void {
  if (known === undefined || textOf(known.calls) === textOf(calls)) return;
  throw new MessageConflictError(`the turn has another message with the id '${id}'`);
}

function textOf(calls: readonly ToolCall[]): string {
  return canonicalText(calls as unknown as JsonValue);
}

function forgottenTurn(id: string): ForgottenTurnError {
  return new ForgottenTurnError(`the turn '${id}' was forgotten`);
}

function dispatchedBefore(id: string): MessageConflictError {
  return new MessageConflictError(
    `the message '${id}' was dispatched before: only sessions with a store return its results again`,
  );
}

/** How a message runs. */
interface DurableRunOptions {
  /** Called when the message is stored, or known to be stored. */
  readonly onPersisted?: (() => void) | undefined;
  /** The trace that its calls belong to. Default: each begins one of its own. */
  readonly trace?: TraceHeaders | undefined;
  /** Whether it does not wait for the messages that came before. Default: it does. */
  readonly isAlone?: boolean;
  /** Whether it is refused if its turn was forgotten. Default: the turn begins again. */
  readonly refusesForgotten?: boolean;
}

/**
 * Runs a message once, in a durable runtime.
 *
 * @returns one result for each call, in order.
 * @throws {MessageConflictError} as a rejection, if the turn has another message with this id, and {@link
 *   ForgottenTurnError} if it was forgotten. Also what the runtime throws.
 */
export async function runDurably(
  runtime: DurableRuntime,
  { id: turnId, userText, session, unattended }: TurnCore,
  messageId: string,
  calls: readonly MessageCall[],
  { onPersisted, trace, isAlone = false, refusesForgotten = false }: DurableRunOptions = {},
): Promise<(ToolExecution | null)[]> {
  const message: DurableMessage = {
    sessionId: session.id,
    turnId,
    messageId,
    calls: storedCalls(calls),
    receivedAt: Date.now(),
    ...(userText !== undefined && { userText }),
    ...(unattended && { unattended }),
    ...(trace !== undefined && { trace }),
    ...(isAlone && { isAlone }),
    ...(refusesForgotten && { refusesForgotten }),
  };
  const known = await runtime.accept(message);
  if (known === "forgotten") throw forgottenTurn(turnId);
  requireSame(known, messageId, message.calls);
  onPersisted?.();
  const place = { ...message, receivedAt: (known ?? message).receivedAt };
  const results = (await runtime.results(place)) ?? (await storedResults(runtime, message));
  const byId = new Map(message.calls.map(({ id }, index) => [id, results[index]]));
  return calls.map((call) => {
    const result = byId.get(call.id);
    // The session was closed before the message began.
    return result === undefined ? cancelledExecution(call) : result;
  });
}

/** Of a message that ended long ago. */
async function storedResults(
  { store }: DurableRuntime,
  message: DurableMessage,
): Promise<(ToolExecution | null)[]> {
  const { sessionId, turnId, messageId } = message;
  const states = await store.calls(sessionId, turnId, messageId);
  return states.map(({ execution = null }) => execution);
}
