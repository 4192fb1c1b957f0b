import type { MaybePromise } from "../base/promises.ts";
import { SandgateError } from "../base/sandgate-error.ts";
import { receiveCall } from "../engine/call/call.ts";
import { Redaction } from "../redaction/redaction.ts";
import { AgentSession } from "./agents/agent-session.ts";
import {
  type AgentCall,
  type AgentOptions,
  originOf,
  recordOfAgent,
  stateOfAgent,
} from "./agents/open-agent.ts";
import { Approvals } from "./approvals/approvals.ts";
import { interruptedExecution } from "./calls/ended-calls.ts";
import { identityOf } from "./calls/identity.ts";
import { type ChangeListener, ChangeListeners } from "./changes/change-events.ts";
import { warnIfNotHeld } from "./changes/warn-if-not-held.ts";
import { emitInto } from "./confirmation-events.ts";
import type { AnswerOutcome, InquiryAnswer } from "./confirmations/answer.ts";
import { Inquiries } from "./confirmations/inquiries.ts";
import type { Inquiry, InquiryRecord } from "./confirmations/inquiry.ts";
import type { InquiryListener } from "./confirmations/inquiry-listeners.ts";
import { SteadyClock } from "./confirmations/steady-clock.ts";
import { holdsChanges } from "./deciding/levels.ts";
import { Quotas } from "./deciding/quotas.ts";
import { checkId } from "./ids.ts";
import { Ledgers, type RestoredSession } from "./ledger/ledgers.ts";
import type { CustomMode } from "./modes/mode.ts";
import { type ModeListener, ModeListeners } from "./modes/mode-changes.ts";
import type { Modes } from "./modes/modes.ts";
import { checkOptions, type SessionsOptions, type Settings } from "./options.ts";
import { repair } from "./repair.ts";
import { RestingTurn } from "./resting-turn.ts";
import { type ResumedMessage, Session } from "./session.ts";
import { type OpenSessionOptions, recordOf } from "./session-record.ts";
import { SessionShadow } from "./session-shadow.ts";
import type { Shared } from "./shared.ts";
import { GuardedStore } from "./store/guarded-store.ts";
import { MemorySessionStore } from "./store/memory-store.ts";
import type { MessageRecord, SessionRecord } from "./store/records.ts";
import type { SessionStore } from "./store/store.ts";
import { isTrusted, realPath } from "./trusted-workspaces.ts";

/** The most open sessions of one principal; those without a principal share this number. */
const MAX_SESSIONS = 1_000;

/** Thrown if a session has this id already. */
export class SessionExistsError extends SandgateError {
  override readonly name = "SessionExistsError";
  override readonly code = "session_exists";
}

/** Thrown if a principal has as many open sessions as it may. */
export class TooManySessionsError extends SandgateError {
  override readonly name = "TooManySessionsError";
  override readonly code = "too_many_sessions";
}

/**
 * Opens sessions over a registry, a policy and sandboxes. With a store that has sessions, they are opened again, and what
 * they were doing goes on: questions are open again with the same id, digest and expiry, calls that had not begun run,
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
  const sessions = new Sessions(settings, (options as SessionsOptions).store);
  await sessions.restore();
  return sessions;
}

/** Called with what happens to sessions. Must not throw. */
export interface SessionsObserver {
  /** The last running call of a session has ended, or waits for a person. */
  onIdle(): void;
  /** A session was closed, by a client or by the embedder. */
  onClosed(sessionId: string): void;
}

/** The open sessions of a process. {@link openSessions} opens them. */
export class Sessions implements AsyncDisposable {
  readonly #sessions = new Map<string, Session>();
  readonly #countByPrincipal = new Map<string | undefined, number>();
  readonly #shared: Shared & { isSuspended: boolean };
  #resumed: ResumedMessage[] = [];
  #observer: SessionsObserver | undefined;

  /** @internal */
  constructor(settings: Settings, store: SessionStore | undefined) {
    const table = new GuardedStore(store ?? new MemorySessionStore());
    const clock = new SteadyClock();
    this.#shared = {
      ...{ settings, table, store: store && table, isSuspended: false },
      redaction: settings.context.redaction ?? new Redaction(),
      inquiries: new Inquiries({ store: table, timeoutMs: settings.timeoutMs, clock }),
      approvals: new Approvals(table, () => clock.now()),
      modeListeners: new ModeListeners(),
      changeListeners: new ChangeListeners(),
      heldRoom: { held: undefined },
      resting: new RestingTurn(),
      ledgers: new Ledgers({ maxEntries: settings.ledgerEntries, clock, table: store?.ledger }),
      onIdle: () => this.#observer?.onIdle(),
      remove: (session) => this.#remove(session),
    };
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
    if (this.#sessions.has(id)) throw new SessionExistsError(`the session '${id}' exists`);
    const count = this.#countByPrincipal.get(principal?.id) ?? 0;
    if (count >= MAX_SESSIONS)
      throw new TooManySessionsError(`a principal can have ${MAX_SESSIONS} open sessions`);
    this.#countByPrincipal.set(principal?.id, count + 1);
    try {
      const session = await create(record);
      await session.openChanges();
      if (!(await this.#shared.table.addSession(record)))
        throw new SessionExistsError(`the session '${id}' exists`);
      this.#sessions.set(id, session);
      // The modes may have been replaced while it was opened.
      session.readModeAgain();
      return session;
    } catch (error) {
      this.#release(principal?.id);
      throw error;
    }
  }

  /**
   * Copies the workspace of a session for a task, and opens another session that works in the copy. What an earlier process
   * has copied for the task is used again.
   *
   * @param options Of the other session. Default: those of the first one. Its mode is `cautious` if that of the first one
   *   holds changes, since the copy does so already.
   * @throws {TypeError} as a rejection, if the session has no workspace, or works in a shadow itself.
   * @throws {TooLargeError} as a rejection, if the workspace has more than 100,000 entries or 4 GiB.
   */
  async shadow(
    session: Session,
    taskId: string,
    options: Omit<OpenSessionOptions, "workspace" | "principal"> = {},
  ): Promise<SessionShadow> {
    const { realWorkspace, shadowPlace, principal, kind, modeState, mode, tools } = session;
    if (realWorkspace === undefined) throw new TypeError("the session has no workspace");
    if (shadowPlace !== undefined) throw new TypeError("the session works in a shadow itself");
    const { ShadowTree } = await import("../changes/shadow/shadow.ts");
    const tree = await ShadowTree.open(realWorkspace, checkId(taskId, "task"));
    const opened = await this.open({
      mode: holdsChanges(modeState.base) ? "cautious" : mode,
      kind,
      ...(tools !== undefined && { tools }),
      ...options,
      ...(principal !== undefined && { principal }),
      workspace: tree.directory,
    });
    return new SessionShadow(session, opened, tree);
  }

  async #create(record: SessionRecord): Promise<Session> {
    const { settings, store } = this.#shared;
    const { trustedWorkspaces, trustedClasses } = settings;
    const { workspace } = record;
    const realWorkspace = workspace === undefined ? undefined : await realPath(workspace);
    const trusted = (await isTrusted(realWorkspace, trustedWorkspaces)) ? trustedClasses : undefined;
    const quotas = Quotas.isUnlimited(settings)
      ? undefined
      : new Quotas(settings, store, store && (await store.counts(record.id)));
    const turnIds = store === undefined ? [] : await store.turnIds(record.id);
    return new Session(this.#shared, record, { quotas, trusted, realWorkspace, turnIds });
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
      (record) => new AgentSession(this.#shared, record, state, origin),
    );
  }

  /** Returns an open session; `undefined` if there is none with this id. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** The open sessions, in the order in which they were opened. */
  list(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** Why the store cannot write, for operators: no call runs meanwhile. `undefined` if it can. */
  get problem(): string | undefined {
    return this.#shared.table.problem;
  }

  /** The open inquiries of all sessions, the oldest first. */
  openInquiries(): readonly Inquiry[] {
    return this.#shared.inquiries.open();
  }

  /** Returns an inquiry, open or resolved; `undefined` if it is unknown, or its session is closed. */
  inquiry(id: string): Promise<InquiryRecord | undefined> {
    return this.#shared.inquiries.find(id);
  }

  /**
   * Answers an inquiry. The first answer that is written wins, and later ones learn which it was. Nothing checks here who
   * answers: `by` must be a person whom you authenticated, and who may decide on the session's calls.
   *
   * @returns what became of the answer. Rejects with a `SessionStoreError` if it could not be stored; the inquiry is open
   *   then.
   */
  answer(inquiryId: string, answer: InquiryAnswer): Promise<AnswerOutcome> {
    return this.#shared.inquiries.answer(inquiryId, answer);
  }

  /**
   * Calls a listener for every inquiry that is open or opens, and for its end. Errors that it throws are ignored.
   *
   * @returns a function that removes it.
   */
  onInquiry(listener: InquiryListener): () => void {
    return this.#shared.inquiries.on(listener);
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
   * Calls a listener for what happens to held changes. Errors that it throws are ignored.
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
    for (const session of this.#sessions.values()) session.readModeAgain();
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
   * they go on when it is opened again.
   */
  async close(): Promise<void> {
    if (this.#shared.isSuspended) return;
    this.#shared.isSuspended = true;
    await Promise.all(this.list().map((session) => session.cancel()));
    await Promise.all(this.list().map(({ changes }) => changes.suspend()));
    this.#shared.inquiries.close();
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
    const { inquiries, approvals, settings, store } = this.#shared;
    if (store !== undefined) {
      // What would read the results of an agent has ended.
      for (const { id, parent } of await store.sessions())
        if (parent !== undefined) await store.removeSession(id);
      await inquiries.restore();
      await approvals.restore();
      for (const record of await store.sessions()) {
        const session = await this.#create(record);
        this.#sessions.set(record.id, session);
        // Without its workspace, it can hold no changes, so that a person is asked about them.
        await warnIfNotHeld(session.openChanges());
        const principal = record.principal?.id;
        this.#countByPrincipal.set(principal, (this.#countByPrincipal.get(principal) ?? 0) + 1);
      }
    }
    const isBehind = await repair(this.#shared, (id) => this.#sessions.get(id));
    if (store !== undefined) await this.#restoreLedgers(store, isBehind);
    inquiries.on(emitInto(settings.context, (id) => this.#sessions.get(id)?.principal));
    for (const message of (await store?.unfinishedMessages()) ?? []) await this.#resume(message);
  }

  /** Without what the store has of them, calls may be missing. */
  async #restoreLedgers(store: SessionStore, isBehind: boolean): Promise<void> {
    const { ledgers, settings } = this.#shared;
    if (store.ledger === undefined || settings.context.policy.usesHistory !== true) {
      ledgers.miss();
      for (const { ledger } of this.#sessions.values()) ledger.miss();
      return;
    }
    const opened = new Map<string, RestoredSession>();
    for (const { id, openedAt } of await store.sessions()) {
      const session = this.#sessions.get(id);
      if (session !== undefined) opened.set(id, { openedAt, ledger: session.ledger.ledger });
    }
    const { entries, missingUntil } = await store.ledger.ledgerState();
    ledgers.restore({ entries, missingUntil: isBehind ? undefined : missingUntil }, opened);
  }

  /**
   * Returns the messages of an earlier process that go on, once.
   *
   * @internal
   */
  takeResumed(): readonly ResumedMessage[] {
    return this.#resumed.splice(0);
  }

  async #resume(message: MessageRecord): Promise<void> {
    const session = this.#sessions.get(message.sessionId);
    if (session === undefined) return;
    const { turnId, messageId } = message;
    const ended = new Set<string>();
    for (const { callId, state } of await this.#shared.table.calls(session.id, turnId, messageId)) {
      const call = message.calls.find(({ id }) => id === callId);
      if (state === "begun" && call !== undefined) {
        const identity = identityOf({ session, turnId, messageId }, call);
        await this.#shared.table.end(identity, interruptedExecution(receiveCall(call)));
      }
      if (state === "not-begun") continue;
      ended.add(callId);
      await this.#shared.inquiries.abandon({ sessionId: session.id, turnId, messageId, callId });
    }
    const resumed = session.resume(message, ended);
    // They cannot be read: who follows the message learns of it, and the calls have ended all the same.
    resumed.results.catch(() => {});
    this.#resumed.push(resumed);
  }

  async #remove({ id, principal }: Parameters<Shared["remove"]>[0]): Promise<void> {
    await this.#shared.table.removeSession(id);
    this.#sessions.delete(id);
    this.#release(principal?.id);
    this.#shared.approvals.forgetSession(id);
    this.#observer?.onClosed(id);
    this.#shared.settings.context.sandboxes.endSession?.(id);
  }

  #release(principal: string | undefined): void {
    const left = (this.#countByPrincipal.get(principal) ?? 1) - 1;
    if (left === 0) this.#countByPrincipal.delete(principal);
    else this.#countByPrincipal.set(principal, left);
  }
}
