import { race } from "../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { ToolDefinition } from "../engine/definition.ts";
import type { StoredApproval } from "./approvals.ts";
import type { TurnCore } from "./calls/core.ts";
import type { AnswerOutcome, PersonAnswer } from "./confirmations/answer.ts";
import type { Confirmation } from "./confirmations/confirmation.ts";
import { checkId, newId } from "./ids.ts";
import { levelOf, stagesChanges } from "./levels.ts";
import { decidingMode, type SessionMode } from "./modes/mode.ts";
import { ProvenanceLedger } from "./provenance.ts";
import { SessionBase, type SessionState } from "./session-base.ts";
import { warnIfNotStaged } from "./session-changes.ts";
import type { Shared } from "./shared.ts";
import type { MessageRecord, SessionRecord } from "./store/store.ts";
import { type AcceptedMessage, Turn, type TurnSession } from "./turn.ts";

const TURN_NAMES: OptionNames<TurnOptions> = { id: true, userText: true, unattended: true };

/** Options of {@link Session.turn}. */
export interface TurnOptions {
  /** At most 128 characters. Default: a new id. */
  readonly id?: string;
  /** What the user said. Default: not known. */
  readonly userText?: string;
  /**
   * Whether no person can be asked while the turn is under way: a call that needs a confirmation is denied at once, with the
   * text of a call without an approver. Not stored: after a restart, people can be asked. Default: `false`.
   */
  readonly unattended?: boolean;
}

/** A message of an earlier process that continues. */
export interface ResumedMessage extends AcceptedMessage {
  readonly turn: Turn;
}

/** A conversation with a model, whose calls run under one mode, in one workspace. `Sessions.open` opens it. */
export class Session extends SessionBase implements TurnSession {
  /** The turns with calls under way; `undefined` if there are none. */
  #active: Set<Turn> | undefined;
  readonly #turns: RememberedTurns;
  #provenance: ProvenanceLedger | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  /** Settles when the messages that were received so far have ended; `undefined` if none. */
  #messages: Promise<void> | undefined;

  /** @internal */
  constructor(shared: Shared, record: SessionRecord, state: SessionState) {
    super(shared, record, state);
    this.#turns = new RememberedTurns(state.turnIds);
  }

  /** As it was set. */
  get mode(): SessionMode {
    return this.modeState.mode;
  }

  /** Whether a person has approved a plan in the mode, so that the session decides as in `autonomous`. */
  get isPlanApproved(): boolean {
    return this.modeState.isPlanApproved;
  }

  /**
   * Changes the mode, for the calls that the policy decides on from now on. A mode with the base `plan` awaits a new plan.
   *
   * @param by Who changes it, for the listeners. Default: not known.
   * @throws {TypeError} if there is no such mode, or it is invalid.
   * @throws as a rejection, if the mode stages changes, and the workspace cannot be used.
   */
  async setMode(mode: SessionMode, by?: string): Promise<void> {
    const state = this.settings.modes.resolve(mode);
    if (stagesChanges(state.base)) await this.changes.open();
    await this.currentMode.set(state);
    this.#tellMode(by);
  }

  /** @internal */
  async approvePlan(by: string, confirmationId: string): Promise<void> {
    if (await this.currentMode.approvePlan(confirmationId)) this.#tellMode(by);
  }

  /**
   * Reads the mode again, since the modes of the configuration were replaced.
   *
   * @internal
   */
  readModeAgain(): void {
    if (!this.currentMode.readAgain()) return;
    void warnIfNotStaged(this.openChanges());
    this.#tellMode(undefined);
  }

  #tellMode(by: string | undefined): void {
    const { mode, isPlanApproved } = this;
    this.shared.modeListeners.notify({
      sessionId: this.id,
      mode,
      isPlanApproved,
      at: Date.now(),
      ...(by !== undefined && { by }),
    });
  }

  /** The tools that the session can see, as they are described to a model. */
  definitions(): ToolDefinition[] {
    return this.registry.definitions();
  }

  /**
   * Returns whether some call of a tool could run in the session, perhaps after a question. `false` is certain: the policy allows the
   * principal none, or the level of its calls is `deny`, even after a plan was approved.
   */
  mayCall(name: string): boolean {
    const found = this.registry.find(name);
    if (found === undefined) return false;
    const { subject, tool } = found;
    const { settings, modeState, trusted } = this;
    const mode = decidingMode(modeState);
    const level = levelOf({
      policy: "allow",
      remember: false,
      mode: mode === "plan" ? "autonomous" : mode,
      modeLevel: modeState.tools.get(name),
      sideEffects: subject.sideEffects,
      canStage: true,
      configured: settings.tools.get(name),
      own: tool.confirm,
      approved: false,
      trusted,
      classes: settings.classes,
    });
    return level !== "deny" && (this.policy.mayAllow?.(subject, this.principal) ?? true);
  }

  /**
   * Begins a turn. The session remembers the latest 1,000.
   *
   * @throws {TypeError} if the id is invalid or in use, or the session is closed.
   */
  turn(options: TurnOptions = {}): Turn {
    refuseUnknown(options, TURN_NAMES, "a turn");
    const { id = newId(), userText, unattended = false } = options;
    if (this.#isClosed) throw new TypeError("the session is closed");
    checkId(id, "turn");
    if (this.#turns.has(id)) throw new TypeError(`the session has a turn with the id '${id}' already`);
    return this.#addTurn(id, userText, true, { unattended });
  }

  /** Returns a turn that the session remembers, also one of an earlier process. */
  async findTurn(id: string): Promise<Turn | undefined> {
    const turn = this.#turns.get(id);
    if (turn?.isUnread === false) return turn;
    const [message] = (await this.store?.messages(this.id, id)) ?? [];
    return message && (this.#turns.get(id) ?? this.#addTurn(id, message.userText, false));
  }

  /**
   * Returns a turn in order to run a call of it here, which another process accepted.
   *
   * @internal
   */
  turnOf({ id, userText, unattended }: Pick<TurnCore, "id" | "userText" | "unattended">): Turn {
    return this.#turns.get(id) ?? this.#addTurn(id, userText, false, { unattended });
  }

  /**
   * Returns a turn for a message of it. Whether the runtime has the turn, or has forgotten it, is known when the message is
   * stored: reading it first would be two more requests for each message.
   *
   * @internal
   */
  turnToRead(id: string, userText: string | undefined): Turn {
    return this.#turns.get(id) ?? this.#addTurn(id, userText, false, { unattended: false, isUnread: true });
  }

  /**
   * Takes over what another process has changed.
   *
   * @internal
   */
  takeOver({ mode }: SessionRecord): void {
    if (this.currentMode.takeOver(mode)) this.#tellMode(undefined);
  }

  #addTurn(
    id: string,
    userText: string | undefined,
    isNew: boolean,
    more: { readonly unattended: boolean; readonly isUnread?: boolean } = { unattended: false },
  ): Turn {
    // Made before the first turn is added, from which on calls could be missing.
    const { provenance } = this;
    if (typeof userText === "string") provenance?.observeUserText(userText);
    const turn = new Turn(this, id, userText, isNew, more);
    const forgotten = this.#turns.add(turn, (each) => this.#active?.has(each) === true);
    if (forgotten !== undefined) void this.shared.table.removeTurn(this.id, forgotten);
    return turn;
  }

  /**
   * Forgets a turn, with its messages and their results.
   *
   * @returns `false` if a call of it is under way.
   */
  async forgetTurn(id: string): Promise<boolean> {
    const turn = this.#turns.get(id);
    if (turn !== undefined && this.#active?.has(turn)) return false;
    this.#turns.delete(id);
    await this.shared.table.removeTurn(this.id, id);
    return true;
  }

  /**
   * Whether a turn was forgotten, with its messages: the session knows it at least of the latest 1,000, of earlier processes
   * too. Always `false` unless the sessions have a store. A turn that was forgotten can begin again.
   */
  async isForgotten(id: string): Promise<boolean> {
    return (await this.store?.isForgotten(this.id, id)) ?? false;
  }

  /** The open confirmations of the session, the oldest first. */
  openConfirmations(): readonly Confirmation[] {
    return this.confirmations.open(({ sessionId }) => sessionId === this.id);
  }

  /** Answers a confirmation of this session: see `Sessions.answer`. Those of other sessions are `unknown`. */
  answer(confirmationId: string, answer: Omit<PersonAnswer, "sessionId">): Promise<AnswerOutcome> {
    return this.confirmations.answer(confirmationId, { ...answer, sessionId: this.id });
  }

  /** The approvals that apply to the session, as far as this process knows: see {@link readApprovals}. */
  approvals(): readonly StoredApproval[] {
    return this.shared.approvals.list(this.place);
  }

  /**
   * Returns the approvals that apply to the session, including those that a person gave on another server.
   *
   * @throws `SessionStoreError`, as a rejection, if they cannot be read.
   */
  async readApprovals(): Promise<readonly StoredApproval[]> {
    await this.shared.approvals.refresh();
    return this.approvals();
  }

  /** Revokes an approval that applies to the session. Returns `false` if it does not exist. */
  async revokeApproval(id: string): Promise<boolean> {
    await this.shared.approvals.refresh();
    return this.shared.approvals.revoke(this.place, id);
  }

  /** Cancels all turns with calls under way: see {@link Turn.cancel}. */
  async cancel(): Promise<void> {
    await Promise.all(Array.from(this.#active ?? [], (turn) => turn.cancel()));
  }

  /**
   * Cancels everything that is under way, and removes the session with its confirmations and approvals.
   *
   * @throws `SessionStoreError`, as a rejection, if the session cannot be removed from the store. It can be closed again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close().catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    });
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    await this.cancel();
    await this.shared.remove(this);
    if (this.state.changes === undefined) await this.changes.remove();
  }

  /**
   * Continues a message of an earlier process.
   *
   * @internal
   */
  resume(
    { turnId, userText, messageId: id, calls }: MessageRecord,
    ended: ReadonlySet<string>,
    suspended: ReadonlySet<string>,
  ): ResumedMessage {
    const turn = this.#turns.get(turnId) ?? this.#addTurn(turnId, userText, false);
    return { turn, id, results: turn.resume(id, calls, ended, suspended) };
  }

  /** @internal */
  get provenance(): ProvenanceLedger | undefined {
    const recordsSources = this.settings.context.journal?.recordsSources === true;
    if (this.policy.usesHistory !== true && !recordsSources) return undefined;
    this.#provenance ??= new ProvenanceLedger(
      () => this.policy.trackedFields,
      // Which values calls in other processes gave to tools is not known here, so that no result can be a source.
      this.durable === undefined
        ? { isLate: !this.#turns.isEmpty, recordsSources }
        : { isLate: true, most: 0, recordsSources },
    );
    return this.#provenance;
  }

  /** @internal */
  async awaitMessages(signal: AbortSignal): Promise<() => void> {
    const before = this.#messages;
    const { promise, resolve } = Promise.withResolvers<void>();
    const all = before === undefined ? promise : before.then(() => promise);
    this.#messages = all;
    // A message that is cancelled while it waits ends before those that it waited for.
    const isFirst = before === undefined || (await race(before, { signals: [signal] })) !== "aborted";
    return () => {
      resolve();
      if (isFirst && this.#messages === all) this.#messages = undefined;
    };
  }

  /** @internal */
  begin(turn: Turn): void {
    this.#active ??= new Set();
    this.#active.add(turn);
    if (this.#isClosed || this.isSuspended) turn.abort();
  }

  /** @internal */
  end(turn: Turn): void {
    this.#active?.delete(turn);
    // An empty set would be a tenth of an idle session.
    if (this.#active?.size === 0) this.#active = undefined;
    this.shared.idleTurn.add(turn);
  }
}

/** The turns that a session remembers: older ones are forgotten, with their messages. */
const MAX_TURNS = 1_000;

/** The latest turns of a session, in the order in which they began. */
class RememberedTurns {
  /** `undefined` until the first. The value of a turn of an earlier process is `undefined` until it is needed. */
  #turns: Map<string, Turn | undefined> | undefined;

  /** @param earlier The ids of the turns of earlier processes. */
  constructor(earlier: readonly string[]) {
    if (earlier.length > 0) this.#turns = new Map(earlier.map((id) => [id, undefined]));
  }

  get isEmpty(): boolean {
    return this.#turns === undefined || this.#turns.size === 0;
  }

  /** Whether the session has a turn with this id. */
  has(id: string): boolean {
    return this.#turns?.has(id) === true;
  }

  /** Returns a turn; `undefined` if it does not exist, or was not used since this process began. */
  get(id: string): Turn | undefined {
    return this.#turns?.get(id);
  }

  /**
   * Adds a turn.
   *
   * @param isActive Whether a turn must not be forgotten, since something of it is under way.
   * @returns the id of the turn that is forgotten in its place; `undefined` if none is.
   */
  add(turn: Turn, isActive: (turn: Turn) => boolean): string | undefined {
    this.#turns ??= new Map();
    const isFull = this.#turns.size >= MAX_TURNS && !this.#turns.has(turn.id);
    const forgotten = isFull ? this.#oldestIdle(this.#turns, isActive) : undefined;
    if (forgotten !== undefined) this.#turns.delete(forgotten);
    this.#turns.set(turn.id, turn);
    return forgotten;
  }

  delete(id: string): void {
    this.#turns?.delete(id);
  }

  #oldestIdle(
    turns: ReadonlyMap<string, Turn | undefined>,
    isActive: (turn: Turn) => boolean,
  ): string | undefined {
    for (const [id, turn] of turns) if (turn === undefined || !isActive(turn)) return id;
    return undefined;
  }
}
