import type { MaybePromise } from "../base/promises.ts";
import { SteadyClock } from "../base/steady-clock.ts";
import { describeThrown } from "../base/thrown.ts";
import type { WaitingCall } from "../engine/call/suspension.ts";
import {
  type AgentCall,
  type AgentOptions,
  AgentSession,
  originOf,
  recordOfAgent,
  stateOfAgent,
} from "./agent-session.ts";
import type { AnswerOutcome, PersonAnswer } from "./confirmations/answer.ts";
import type { Confirmation, ConfirmationRecord } from "./confirmations/confirmation.ts";
import {
  CombinedBroker,
  type ConfirmationBroker,
  type ConfirmationListener,
} from "./confirmations/confirmation-broker.ts";
import { emitInto } from "./confirmations/confirmation-events.ts";
import { durableHost, LoadedSessions } from "./durable-host.ts";
import type { DurableRuntime } from "./durable-runtime.ts";
import type { ModeListener } from "./modes/current-mode.ts";
import type { CustomMode } from "./modes/mode.ts";
import type { Modes } from "./modes/modes.ts";
import { checkOptions, type SessionsOptions, type Settings } from "./options.ts";
import { Quotas } from "./quotas.ts";
import { restoreSessions } from "./restore-sessions.ts";
import { type ResumedMessage, Session } from "./session.ts";
import type { ChangeListener } from "./session-changes.ts";
import { SessionExistsError, SessionStoreError } from "./session-errors.ts";
import { type OpenSessionOptions, recordOf } from "./session-record.ts";
import { openShadow, type SessionShadow } from "./session-shadow.ts";
import { SessionTable } from "./session-table.ts";
import { type SessionsObserver, type Shared, sharedInProcess, sharedWithRuntime } from "./shared.ts";
import type { SessionRecord, SessionStore } from "./store/store.ts";
import { isTrusted, realPath } from "./trusted-workspaces.ts";

/**
 * Opens sessions over a registry, a policy and sandboxes. With a store that has sessions, they are opened again, and what
 * they were doing continues: questions are open again with the same id, digest and expiry, calls that had not begun run,
 * and calls that were running end as `execution_error` with the effect `unknown`. If there is a journal too, calls that it
 * has recorded end as it says, whatever the store has of them.
 *
 * @throws {TypeError} as a rejection, if an option is invalid, and `SessionStoreError` if the store fails. Also if the journal
 *   cannot be read, with what it throws.
 */
export async function openSessions<Embedder = unknown>(
  options: SessionsOptions<Embedder>,
): Promise<Sessions> {
  const settings = checkOptions(options as SessionsOptions);
  const { store, durable } = options as SessionsOptions;
  const sessions = new Sessions(settings, store, durable);
  await sessions.restore();
  return sessions;
}

/** The open sessions of a process. {@link openSessions} opens them. */
export class Sessions implements AsyncDisposable {
  readonly #table = new SessionTable();
  readonly #shared: Shared & { isSuspended: boolean };
  /** What the sessions share that only this process has. The same as `#shared` without a durable runtime. */
  readonly #own: Shared & { isSuspended: boolean };
  /** Those of the durable runtime; `undefined` if none. */
  readonly #loaded: LoadedSessions | undefined;
  /** Those of all sessions. */
  readonly #confirmations: ConfirmationBroker;
  readonly #resumed: ResumedMessage[] = [];
  #observer: SessionsObserver | undefined;

  /** @internal */
  constructor(settings: Settings, store: SessionStore | undefined, durable: DurableRuntime | undefined) {
    const clock = new SteadyClock();
    this.#own = sharedInProcess(settings, store, clock, {
      onIdle: () => this.#observer?.onIdle(),
      remove: (session) => this.#remove(session),
    });
    this.#shared =
      durable === undefined ? this.#own : sharedWithRuntime(durable, this.#own, () => clock.now());
    this.#confirmations =
      durable === undefined
        ? this.#own.confirmations
        : new CombinedBroker(this.#own.confirmations, this.#shared.confirmations, (id) => this.#isOwn(id));
    this.#loaded =
      durable &&
      new LoadedSessions(durable, this.#table, {
        create: (record) => this.#create(record),
        forget: (id) => this.#forget(id),
      });
  }

  /** Whether only this process has a session. */
  #isOwn(id: string): boolean {
    const session = this.#table.get(id);
    return session !== undefined && session.durable === undefined;
  }

  /** What a session shares. The sessions of agents end with the call that runs them, in its process. */
  #sharedOf({ durable, parent }: SessionRecord): Shared {
    return durable === false || parent !== undefined ? this.#own : this.#shared;
  }

  /**
   * Opens a session.
   *
   * @throws {SessionExistsError} if the id is in use, and {@link TooManySessionsError} if the principal has 1,000 open
   *   sessions.
   * @throws {TypeError} if an option is invalid. All of them are rejections.
   */
  async open(options: OpenSessionOptions = {}): Promise<Session> {
    return this.#open(recordOf(options, this.modes), (record) => this.#create(record));
  }

  async #open<Opened extends Session>(
    record: SessionRecord,
    create: (record: SessionRecord) => MaybePromise<Opened>,
  ): Promise<Opened> {
    const { id, principal } = record;
    if (this.#shared.isSuspended) throw new TypeError("the sessions are closed");
    const isOwn = this.#sharedOf(record).durable === undefined;
    // The sessions of a durable runtime are counted there.
    if (isOwn) this.#table.reserve(id, principal?.id);
    try {
      const session = await create(record);
      await session.openChanges();
      if (!(await this.#sharedOf(record).table.addSession(record)))
        throw new SessionExistsError(`the session '${id}' exists`);
      this.#table.add(session);
      if (session.durable !== undefined) this.#loaded?.add(session);
      // The modes may have been replaced while it was opened.
      session.readModeAgain();
      return session;
    } catch (error) {
      if (isOwn) this.#table.release(principal?.id);
      throw error;
    }
  }

  /**
   * Copies the workspace of a session for a task, and opens another session that works in the copy. What an earlier process
   * has copied for the task is used again.
   *
   * @param options Of the other session. Default: those of the first one. Its mode is `cautious` if that of the first one
   *   stages changes, since nothing in the copy reaches the workspace before `merge`.
   * @throws {TypeError} as a rejection, if the session has no workspace, works in a shadow itself, or is that of an agent.
   * @throws {TooLargeError} as a rejection, if the workspace has more than 100,000 entries or 4 GiB.
   */
  async shadow(
    session: Session,
    taskId: string,
    options: Omit<OpenSessionOptions, "workspace" | "principal"> = {},
  ): Promise<SessionShadow> {
    return openShadow(session, taskId, options, (record) => this.open(record));
  }

  #create(record: SessionRecord): Promise<Session> {
    return createSession(this.#sharedOf(record), record);
  }

  /**
   * Opens the session of an agent that a call of another session runs: see {@link AgentSession}.
   *
   * @throws {Refusal} as {@link originOf}, and {@link TooManySessionsError}. Both are rejections.
   * @internal
   */
  async openAgent(above: Session, call: AgentCall, options: AgentOptions): Promise<Session> {
    const origin = await originOf(above, call, options);
    const state = stateOfAgent(above, options);
    return this.#open(
      recordOfAgent(above, origin, options.tools),
      (record) => new AgentSession(this.#own, record, state, origin),
    );
  }

  /** Returns an open session; `undefined` if it does not exist. */
  get(id: string): Session | undefined {
    return this.#table.get(id);
  }

  /**
   * Returns an open session, also one that another process has opened, as it is now; `undefined` if it does
   * not exist.
   *
   * @param options.maxAgeMs How long ago it may have been read, in ms. Default: it is read now.
   * @throws as a rejection, if the durable runtime cannot be asked.
   */
  async find(id: string, { maxAgeMs }: { readonly maxAgeMs?: number } = {}): Promise<Session | undefined> {
    if (this.#loaded === undefined || this.#isOwn(id)) return this.get(id);
    return this.#loaded.find(id, undefined, maxAgeMs);
  }

  /**
   * Returns the open sessions of all processes, in the order in which they were opened, as far as this process knows.
   *
   * @throws as a rejection, if the durable runtime cannot be asked.
   */
  async findAll(): Promise<readonly Session[]> {
    await this.#loaded?.findAll();
    return this.list();
  }

  /** The open sessions, in the order in which they were opened. */
  list(): readonly Session[] {
    return [...this.#table.all()];
  }

  /** Why the store cannot write, or a durable runtime accepts no messages, for operators: no call runs meanwhile. */
  get problem(): string | undefined {
    return this.#shared.table.problem ?? this.#shared.durable?.problem;
  }

  /**
   * The calls of all sessions that are suspended while they wait, the oldest first: see the option `suspensions`. Rejects
   * with a `SessionStoreError` if their store cannot be read.
   */
  async suspendedCalls(): Promise<readonly WaitingCall[]> {
    let waiting: readonly WaitingCall[];
    try {
      waiting = (await this.#shared.settings.context.suspensions?.waiting()) ?? [];
    } catch (cause) {
      throw new SessionStoreError(describeThrown(cause).message, { cause });
    }
    // Those of a durable runtime may not have been read here.
    return this.#loaded ? waiting : waiting.filter(({ sessionId }) => this.get(sessionId) !== undefined);
  }

  /** The open confirmations of all sessions, the oldest first. */
  openConfirmations(): readonly Confirmation[] {
    return this.#confirmations.open();
  }

  /** Returns a confirmation, open or resolved; `undefined` if it is unknown, or its session is closed. */
  confirmation(id: string): Promise<ConfirmationRecord | undefined> {
    return this.#confirmations.find(id);
  }

  /**
   * Answers a confirmation. The first answer that is written wins, and later ones learn which it was. Nothing checks here who
   * answers: `by` must be a person whom you authenticated, and who may decide on the session's calls.
   *
   * @returns the outcome of the answer. Rejects with a `SessionStoreError` if it could not be stored; the confirmation is open
   *   then.
   */
  answer(confirmationId: string, answer: PersonAnswer): Promise<AnswerOutcome> {
    return this.#confirmations.answer(confirmationId, answer);
  }

  /**
   * Calls a listener for every confirmation that is open or opens, and for its end. Errors that it throws are ignored.
   *
   * @returns a function that removes it.
   */
  onConfirmation(listener: ConfirmationListener): () => void {
    return this.#confirmations.on(listener);
  }

  /**
   * Calls a listener for every mode of a session that changes, and every plan that is approved. Errors that it throws are
   * ignored.
   *
   * @returns a function that removes it.
   */
  onModeChange(listener: ModeListener): () => void {
    return this.#shared.modeListeners.on(listener);
  }

  /**
   * Calls a listener for what happens to staged changes. Errors that it throws are ignored.
   *
   * @returns a function that removes it.
   */
  onChanges(listener: ChangeListener): () => void {
    return this.#shared.changeListeners.on(listener);
  }

  /**
   * Replaces the modes of the configuration, also for sessions that are in one of them. A session whose mode is gone decides
   * as in `manual`, until its mode is changed or is there again.
   *
   * @throws {TypeError} if a mode is invalid. Nothing is replaced then.
   */
  replaceModes(modes: Readonly<Record<string, CustomMode>>): void {
    this.modes.replace(modes);
    for (const session of this.#table.all()) session.readModeAgain();
  }

  /** @internal */
  get modes(): Modes {
    return this.#shared.settings.modes;
  }

  /**
   * Sets the only observer.
   *
   * @internal
   */
  observe(observer: SessionsObserver): void {
    this.#observer = observer;
  }

  /**
   * Cancels the calls that are under way, and closes the store. Sessions, and calls that wait, stay in the store, so that
   * they continue when it is opened again.
   */
  async close(): Promise<void> {
    if (this.#shared.isSuspended) return;
    this.#shared.isSuspended = true;
    this.#own.isSuspended = true;
    // What other processes can continue with is left to them.
    const own = this.list().filter(({ durable }) => durable === undefined);
    await Promise.all(own.map((session) => session.cancel()));
    await Promise.all(this.list().map(({ changes }) => changes.suspend()));
    this.#confirmations.close();
    await this.#shared.durable?.close();
    await this.#shared.table.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Opens the sessions of the store again.
   *
   * @internal
   */
  async restore(): Promise<void> {
    if (this.#shared.durable !== undefined) return this.#startDurably(this.#shared.durable);
    const opened = await restoreSessions(this.#shared, this.#table, (record) => this.#create(record));
    this.#resumed.push(...opened);
  }

  /** Nothing is opened again: what continues is given to this process when Restate chooses it. */
  async #startDurably(durable: DurableRuntime): Promise<void> {
    const { settings, approvals, ledgers } = this.#shared;
    ledgers.share();
    this.#confirmations.on(emitInto(settings.context, (id) => this.get(id)?.principal));
    await approvals.restore();
    await this.#confirmations.restore();
    await durable.start(durableHost({ settings, find: async (id, known) => this.#loaded?.find(id, known) }));
  }

  /**
   * Returns the messages of an earlier process that continue, once.
   *
   * @internal
   */
  takeResumed(): readonly ResumedMessage[] {
    return this.#resumed.splice(0);
  }

  async #remove({ id, principal }: Parameters<Shared["remove"]>[0]): Promise<void> {
    const isOwn = this.#isOwn(id);
    const { table, approvals } = isOwn ? this.#own : this.#shared;
    await table.removeSession(id);
    if (isOwn) this.#table.release(principal?.id);
    approvals.forgetSession(id);
    this.#forget(id);
  }

  /** A session is closed, perhaps by another process, or was not used here for long. */
  #forget(id: string): void {
    if (this.#table.get(id) === undefined) return;
    this.#table.remove(id);
    this.#observer?.onClosed(id);
    this.#shared.settings.context.sandboxes.endSession?.(id);
  }
}

/** Makes a session of a person from its record, with what the disk and the store have of it. */
async function createSession(shared: Shared, record: SessionRecord): Promise<Session> {
  const { settings } = shared;
  const store = record.durable === false ? undefined : shared.store;
  const { trustedWorkspaces, trustedClasses } = settings;
  const { workspace } = record;
  const realWorkspace = workspace === undefined ? undefined : await realPath(workspace);
  const trusted = (await isTrusted(realWorkspace, trustedWorkspaces)) ? trustedClasses : undefined;
  const quotas = Quotas.isUnlimited(settings)
    ? undefined
    : new Quotas(settings, store, store && (await store.counts(record.id)), shared.durable?.count);
  const turnIds = store === undefined ? [] : await store.turnIds(record.id);
  return new Session(shared, record, { quotas, trusted, realWorkspace, turnIds });
}
