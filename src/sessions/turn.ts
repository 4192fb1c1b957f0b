import type { TraceHeaders } from "../base/trace-headers.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolCall } from "../engine/call.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { ResultBudget } from "../engine/result-budget.ts";
import type { CallHistory } from "../policy/call-history.ts";
import { type MessageCall, messageCall, messageCalls } from "./calls/call-run.ts";
import type { SessionCore, TurnCore, UnderWay } from "./calls/core.ts";
import { MessageRun } from "./calls/message-run.ts";
import { runDurably, type StoredMessage, StoredMessages } from "./calls/stored-messages.ts";
import { checkId, newId } from "./ids.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { LedgerScope } from "./ledger/ledgers.ts";
import { UnfinishedMessages } from "./unfinished-messages.ts";

const MESSAGE_NAMES: OptionNames<DispatchMessageOptions> = { messageId: true, trace: true };

type Results = (ToolExecution | null)[];

/** Options of {@link Turn.dispatchAll}. */
export interface DispatchMessageOptions {
  /**
   * Identifies the message within the turn, so that it can be dispatched again after a lost answer: see
   * {@link Turn.dispatchAll}. At most 128 characters. Default: a new id.
   */
  readonly messageId?: string;
  /**
   * The trace that the calls belong to, as the headers `traceparent` and `tracestate` of a request say. Not in the store: after
   * a restart, calls begin traces of their own, except on Restate. Default: none.
   */
  readonly trace?: TraceHeaders;
}

/** A message that {@link Turn.accept} has accepted. */
export interface AcceptedMessage {
  readonly id: string;
  /** One result for each call, in the order of the calls. */
  readonly results: Promise<readonly (ToolExecution | null)[]>;
}

/** The part of its session that a turn uses. */
export interface TurnSession extends SessionCore {
  /** Waits until the messages that came before have ended, or the signal is aborted. Returns a function to be called at the end. */
  awaitMessages(signal: AbortSignal): Promise<() => void>;
  begin(turn: Turn): void;
  end(turn: Turn): void;
}

/** Everything between two messages of the user. `Session.turn` begins one. */
export class Turn implements TurnCore {
  readonly id: string;
  /** What the user said. */
  readonly userText: string | undefined;
  /** @internal */
  readonly unattended: boolean;
  /** @internal */
  readonly session: TurnSession;
  // A session remembers many turns that are over, so these have only what is of use then.
  /** `undefined` while nothing could be cancelled. */
  #cancelling: AbortController | undefined;
  /** The messages with calls under way; `undefined` if there are none. */
  #underWay: UnfinishedMessages | undefined;
  /** How many messages wait for those that came before. */
  #waiting = 0;
  #stored: StoredMessages | undefined;
  #isNew: boolean;
  #isUnread: boolean;
  #ledger: LedgerScope | undefined;
  #history: CallHistory | undefined;
  #messageCount = 0;

  /** @internal */
  constructor(
    session: TurnSession,
    id: string,
    userText: string | undefined,
    isNew: boolean,
    { unattended, isUnread = false }: { readonly unattended: boolean; readonly isUnread?: boolean },
  ) {
    this.unattended = unattended;
    this.#isUnread = isUnread;
    this.session = session;
    this.id = id;
    this.userText = userText;
    this.#isNew = isNew;
  }

  /** The tools that its session can see. */
  get registry(): ToolRegistry {
    return this.session.registry;
  }

  /** How much of a result the model reads; `undefined` for the default. */
  get resultBudget(): ResultBudget | undefined {
    return this.session.settings.context.resultBudget;
  }

  /**
   * Whether it is not known yet if the runtime has the turn, or has forgotten it.
   *
   * @internal
   */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** @internal */
  get signal(): AbortSignal {
    this.#cancelling ??= new AbortController();
    return this.#cancelling.signal;
  }

  get #messages(): StoredMessages {
    this.#stored ??= new StoredMessages(this, this.session.store);
    return this.#stored;
  }

  /** @internal */
  get ledger(): LedgerScope {
    const { ledger, origin } = this.session;
    if (origin !== undefined) return origin.root.turn.ledger;
    // A session forgets old turns, and finds them again.
    const earlier = (): Ledger => ledger.ledger.select(({ turnId }) => turnId === this.id);
    this.#ledger ??= new LedgerScope(ledger.ledgers, this.#isNew ? undefined : earlier);
    return this.#ledger;
  }

  /** @internal */
  markMissing(): void {
    const { origin } = this.session;
    if (origin !== undefined) origin.root.turn.markMissing();
    else if (this.#ledger !== undefined) this.#ledger.markMissing();
    // The call is missing in the ledger of the session, too, which records that.
    else this.#isNew = false;
  }

  /** @internal */
  get history(): CallHistory | undefined {
    const { provenance } = this.session;
    if (provenance === undefined) return undefined;
    this.#history ??= Object.freeze({ userText: this.userText, provenance });
    return this.#history;
  }

  /**
   * Dispatches one call as a message of its own, as soon as it has a slot. It does not wait for messages of
   * {@link dispatchAll}.
   *
   * @param options.trace The trace that the call belongs to: see {@link DispatchMessageOptions}.
   * @returns Its result, or `null` if `hooks.onToolCall` aborted it. Never rejects for the call.
   * @throws `SessionStoreError`, as a rejection, if the call cannot be stored, which then does not run.
   */
  dispatch(
    call: ToolCall,
    { trace }: Pick<DispatchMessageOptions, "trace"> = {},
  ): Promise<ToolExecution | null> {
    const id = this.#nextMessageId();
    const received = messageCall(call);
    const { durable } = this.session;
    if (durable !== undefined) {
      const results = this.#whileUnderWay(() =>
        runDurably(durable, this, id, [received], { isAlone: true, trace }),
      );
      return results.then(([result = null]) => result);
    }
    if (this.session.store === undefined) return new MessageRun(this, id, [received], { trace }).runFirst();
    return this.#messages.first(id, received, () =>
      new MessageRun(this, id, [received], { trace }).runFirst(),
    );
  }

  /**
   * Dispatches the calls of one assistant message. They run concurrently, as far as the session has slots; a
   * second message of the session waits for the first. Calls with the same id, and those with `cutOff`, do not run.
   *
   * If the sessions have a store, a message that is sent again with the same id and the same calls gets the same results,
   * and its calls do not run again. Without a store, it is refused, and its calls do not run again either.
   *
   * @returns One result for each call, in the order of the calls.
   * @throws {MessageConflictError} as a rejection, if the turn has another message with this id, or one and no store.
   * @throws {TypeError} as a rejection, if `calls` is not iterable, or the id is invalid.
   */
  async dispatchAll(calls: readonly ToolCall[], options: DispatchMessageOptions = {}): Promise<Results> {
    refuseUnknown(options, MESSAGE_NAMES, "a message");
    const { messageId, trace } = options;
    const received = messageCalls([...calls]);
    const id = messageId === undefined ? this.#nextMessageId() : checkId(messageId, "message");
    return this.#whileUnderWay(() => this.#once(id, received, { trace }));
  }

  /**
   * Like {@link dispatchAll}, but resolves as soon as the message is stored, so that its calls run even if this process ends.
   *
   * @throws like {@link dispatchAll}.
   */
  accept(calls: readonly ToolCall[], options: DispatchMessageOptions = {}): Promise<AcceptedMessage> {
    return new Promise((resolve, reject) => {
      refuseUnknown(options, MESSAGE_NAMES, "a message");
      const { messageId, trace } = options;
      const received = messageCalls([...calls]);
      const id = messageId === undefined ? this.#nextMessageId() : checkId(messageId, "message");
      const onPersisted = (): void => resolve({ id, results });
      const results = this.#whileUnderWay(async () => {
        await undefined;
        return this.#once(id, received, { onPersisted, trace });
      });
      results.catch(reject);
    });
  }

  #once(
    id: string,
    calls: readonly MessageCall[],
    { onPersisted, trace }: { readonly onPersisted?: () => void; readonly trace: TraceHeaders | undefined },
  ): Promise<Results> {
    const { durable } = this.session;
    if (durable !== undefined) {
      const persisted = (): void => {
        this.#isUnread = false;
        onPersisted?.();
      };
      return runDurably(durable, this, id, calls, {
        onPersisted: persisted,
        trace,
        refusesForgotten: this.#isUnread,
      });
    }
    return this.#messages.once(id, calls, () => this.#run(id, calls, trace), onPersisted);
  }

  /** Takes the turn for active while a message waits, too: it is not forgotten, and cancelling it waits for the message. */
  async #whileUnderWay<Result>(run: () => Promise<Result>): Promise<Result> {
    // It ends with its calls, under whose id the message is stored.
    const message: UnderWay = { id: "", isRunning: () => false, abandon: () => {} };
    this.begin(message);
    try {
      return await run();
    } finally {
      this.end(message);
    }
  }

  async #run(id: string, calls: readonly MessageCall[], trace?: TraceHeaders): Promise<Results> {
    this.#waiting++;
    const next = await this.session.awaitMessages(this.signal);
    this.#waiting--;
    try {
      return await new MessageRun(this, id, calls, { trace }).runAll();
    } finally {
      next();
    }
  }

  /**
   * Continues a message of an earlier process: runs the calls that have no result.
   *
   * @param suspended The ids of those that continue from where they were suspended.
   * @returns the results of all its calls. Rejects if they cannot be read.
   * @internal
   */
  resume(
    id: string,
    calls: readonly ToolCall[],
    ended: ReadonlySet<string>,
    suspended: ReadonlySet<string>,
  ): Promise<Results> {
    const waiting = calls
      .filter((call) => !ended.has(call.id))
      .map((call) =>
        suspended.has(call.id) ? { ...messageCall(call), isSuspended: true as const } : messageCall(call),
      );
    return this.#whileUnderWay(() => this.#messages.resume(id, () => this.#run(id, waiting)));
  }

  /**
   * Returns the messages of the turn with the results that are there. Empty unless the sessions have a store.
   */
  messages(): Promise<readonly StoredMessage[]> {
    return this.#messages.list();
  }

  /**
   * Returns the messages after the one with an id (default: all), whose results are read from the store one message after
   * the other; `undefined` if the turn has no such message.
   */
  messagesAfter(messageId?: string): Promise<AsyncIterable<StoredMessage> | undefined> {
    return this.#messages.after(messageId);
  }

  /**
   * Cancels the calls of the turn: those that run are stopped, and those that wait do not run. Later calls of the turn
   * are cancelled too.
   *
   * @returns when all have ended, after 30 seconds at most: a call that runs longer is abandoned with a warning.
   */
  async cancel(): Promise<void> {
    this.abort();
    const { durable, isSuspended } = this.session;
    // When a process ends, other processes continue its calls.
    if (durable !== undefined && !isSuspended) await durable.cancelTurn(this.session.id, this.id);
    if (this.#underWay === undefined || (durable !== undefined && isSuspended)) return;
    await this.#underWay.ended(durable === undefined);
  }

  /** Whether the model made a call in a message of the turn, which has no result yet. @internal */
  isRunning(messageId: string, callId: string): boolean {
    return this.#underWay?.isRunning(messageId, callId) === true;
  }

  /**
   * Releases the session's slot of a call while its tool waits for its client.
   *
   * @returns a function that waits for a slot again.
   * @internal
   */
  suspendSlot(callId: string): () => Promise<void> {
    return this.#underWay?.suspendSlot(callId) ?? (async () => {});
  }

  /** @internal */
  abort(): void {
    this.#cancelling ??= new AbortController();
    this.#cancelling.abort();
  }

  /**
   * Gives up the signal, unless a message has it. A turn that was cancelled stays so.
   *
   * @internal
   */
  releaseSignal(): void {
    if (this.#underWay !== undefined || this.#waiting > 0) return;
    if (this.#cancelling?.signal.aborted === false) this.#cancelling = undefined;
  }

  /** @internal */
  begin(message: UnderWay): void {
    if (this.#underWay === undefined) {
      this.#underWay = new UnfinishedMessages();
      this.session.begin(this);
    }
    this.#underWay.add(message);
  }

  /** @internal */
  end(message: UnderWay): void {
    this.#underWay?.delete(message);
    this.#stored?.end(message.id);
    if (this.#underWay?.isEmpty !== true) return;
    this.#underWay = undefined;
    this.session.end(this);
  }

  /** The id of the turn cannot be guessed, so that those of its messages need not be random. */
  #nextMessageId(): string {
    return `${this.id}.${this.session.store === undefined ? ++this.#messageCount : newId()}`;
  }
}
