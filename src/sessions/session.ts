import { race } from "../base/timers/race.ts";
import { shadowedBy } from "../changes/shadow/shadowed-by.ts";
import type { Refusal } from "../engine/failure/refusal.ts";
import type { ToolDefinition } from "../engine/registered-tool.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import type { Principal } from "../policy/principal.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { HoldChanges } from "../sandboxes/contract/held-changes.ts";
import type { StoredApproval } from "./approvals/approval.ts";
import type { ApprovalPlace, Approvals } from "./approvals/approvals.ts";
import type { AgentOrigin } from "./calls/core.ts";
import { Lanes } from "./calls/lanes.ts";
import { SessionChanges } from "./changes/session-changes.ts";
import type { ShadowPlace } from "./changes/shadow-grants.ts";
import { warnIfNotHeld } from "./changes/warn-if-not-held.ts";
import type { AnswerOutcome, InquiryAnswer } from "./confirmations/answer.ts";
import type { Inquiries } from "./confirmations/inquiries.ts";
import type { Inquiry } from "./confirmations/inquiry.ts";
import { type ClassLevels, holdsChanges } from "./deciding/levels.ts";
import type { Quotas } from "./deciding/quotas.ts";
import { checkId, newId } from "./ids.ts";
import { LedgerScope } from "./ledger/ledger-scope.ts";
import { CurrentMode } from "./modes/current-mode.ts";
import type { ModeState, SessionMode } from "./modes/mode.ts";
import type { Settings } from "./options.ts";
import { ProvenanceLedger } from "./provenance/ledger.ts";
import { RememberedTurns } from "./remembered-turns.ts";
import type { Shared } from "./shared.ts";
import type { GuardedStore } from "./store/guarded-store.ts";
import type { MessageRecord, SessionRecord } from "./store/records.ts";
import { type AcceptedMessage, Turn, type TurnSession } from "./turn.ts";
import { visibleTools } from "./visibility.ts";

/** Options of {@link Session.turn}. */
export interface TurnOptions {
  /** At most 128 characters. Default: a new id. */
  readonly id?: string;
  /** What the user said. Default: not known. */
  readonly userText?: string;
  /**
   * Whether no person can be asked while the turn is under way: a call that needs a confirmation is denied at once, with the
   * text of a call without an approver. Not kept: after a restart, people can be asked. Default: `false`.
   */
  readonly unattended?: boolean;
}

/** A message of an earlier process that goes on. */
export interface ResumedMessage extends AcceptedMessage {
  readonly turn: Turn;
}

/** What is found out about a session when it is opened. */
export interface SessionState {
  readonly quotas: Quotas | undefined;
  /** The workspace with its links resolved; `undefined` if there is none. */
  readonly realWorkspace: string | undefined;
  /** The levels of classes in a trusted workspace; `undefined` in any other workspace. */
  readonly trusted: Partial<ClassLevels> | undefined;
  /** The turns of earlier processes, in the order in which they began. */
  readonly turnIds: readonly string[];
  /** Those of the session above: an agent's changes wait there. Default: its own. */
  readonly changes?: SessionChanges;
  /** The tools of which the session can see some. Default: all. */
  readonly registry?: ToolRegistry;
  /** Where its calls are entered. Default: a ledger of its own. */
  readonly ledger?: LedgerScope;
}

/** A conversation with a model, whose calls run under one mode, in one workspace. `Sessions.open` opens it. */
export class Session implements TurnSession {
  readonly id: string;
  /** Who calls; `undefined` if the sessions were not told. */
  readonly principal: Principal | undefined;
  /** The absolute path of the workspace; `undefined` if there is none. */
  readonly workspace: string | undefined;
  readonly kind: "main" | "worker";
  /** @internal */
  readonly tools: readonly string[] | undefined;
  /** The tools that the session can see. A protocol that is created with it offers only these. */
  readonly registry: ToolRegistry;
  /** @internal */
  readonly lanes: Lanes;
  /** @internal */
  readonly ledger: LedgerScope;
  /** The changes that wait for a person: see the modes `review` and `audit`. */
  readonly changes: SessionChanges;
  readonly #shared: Shared;
  /** @internal */
  readonly state: SessionState;
  /** @internal */
  readonly origin: AgentOrigin | undefined = undefined;
  /** The turns with calls under way; `undefined` if there is none. */
  #active: Set<Turn> | undefined;
  readonly #turns: RememberedTurns;
  readonly #mode: CurrentMode;
  #provenance: ProvenanceLedger | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  /** Settles when the messages that have come so far have ended; `undefined` if there is none. */
  #messages: Promise<void> | undefined;

  /** @internal */
  constructor(
    shared: Shared,
    { id, principal, workspace, kind, tools, mode }: SessionRecord,
    state: SessionState,
  ) {
    this.id = id;
    this.principal = principal;
    this.workspace = workspace;
    this.kind = kind;
    this.tools = tools;
    this.#shared = shared;
    this.state = state;
    this.#mode = new CurrentMode(mode, shared.settings.modes, (text) => shared.table.setMode(id, text));
    const info = Object.freeze({ id, kind, ...(principal !== undefined && { principal }) });
    this.registry = visibleTools(
      (state.registry ?? shared.settings.context.registry) as ToolRegistry<never>,
      info,
      tools,
    ) as ToolRegistry;
    this.ledger = state.ledger ?? new LedgerScope(shared.ledgers);
    this.lanes = new Lanes(shared.settings.concurrency, shared.onIdle);
    this.#turns = new RememberedTurns(state.turnIds);
    this.changes =
      state.changes ??
      new SessionChanges({
        ...{ sessionId: id, workspace: state.realWorkspace },
        ...{ listeners: shared.changeListeners, room: shared.heldRoom, redaction: shared.redaction },
      });
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
   * @param by Who changes it, for those who are told. Default: not known.
   * @throws {TypeError} if there is no such mode, or it is invalid.
   * @throws as a rejection, if the mode holds changes, and the workspace cannot be used.
   */
  async setMode(mode: SessionMode, by?: string): Promise<void> {
    const state = this.settings.modes.resolve(mode);
    if (holdsChanges(state.base)) await this.changes.open();
    await this.#mode.set(state);
    this.#tellMode(by);
  }

  /** @internal */
  async approvePlan(by: string): Promise<void> {
    if (await this.#mode.approvePlan()) this.#tellMode(by);
  }

  /**
   * Reads the mode again, since the modes of the configuration were replaced.
   *
   * @internal
   */
  readModeAgain(): void {
    if (!this.#mode.readAgain()) return;
    void warnIfNotHeld(this.openChanges());
    this.#tellMode(undefined);
  }

  #tellMode(by: string | undefined): void {
    const { mode, isPlanApproved } = this;
    this.#shared.modeListeners.tell({
      ...{ sessionId: this.id, mode, isPlanApproved, at: Date.now() },
      ...(by !== undefined && { by }),
    });
  }

  /** The tools that the session can see, as they are described to a model. */
  definitions(): ToolDefinition[] {
    return this.registry.definitions();
  }

  /**
   * Begins a turn. The session remembers the latest 1,000.
   *
   * @throws {TypeError} if the id is invalid or in use, or the session is closed.
   */
  turn({ id = newId(), userText, unattended = false }: TurnOptions = {}): Turn {
    if (this.#isClosed) throw new TypeError("the session is closed");
    checkId(id, "turn");
    if (this.#turns.has(id)) throw new TypeError(`the session has a turn with the id '${id}' already`);
    return this.#addTurn(id, userText, true, unattended);
  }

  /** Returns a turn that the session remembers, also one of an earlier process. */
  async findTurn(id: string): Promise<Turn | undefined> {
    const turn = this.#turns.get(id);
    if (turn !== undefined) return turn;
    const [message] = (await this.store?.messages(this.id, id)) ?? [];
    return message && (this.#turns.get(id) ?? this.#addTurn(id, message.userText, false));
  }

  #addTurn(id: string, userText: string | undefined, isNew: boolean, unattended = false): Turn {
    // Made before the first turn is added, from which on calls could be missing.
    const { provenance } = this;
    if (typeof userText === "string") provenance?.hear(userText);
    const turn = new Turn(this, id, userText, isNew, unattended);
    const forgotten = this.#turns.add(turn, (each) => this.#active?.has(each) === true);
    if (forgotten !== undefined) void this.#shared.table.removeTurn(this.id, forgotten);
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
    await this.#shared.table.removeTurn(this.id, id);
    return true;
  }

  /**
   * Whether a turn was forgotten, with its messages: the session knows it at least of the latest 1,000, of earlier processes
   * too. Always `false` unless the sessions have a store. A turn that was forgotten can begin again.
   */
  async isForgotten(id: string): Promise<boolean> {
    return (await this.store?.isForgotten(this.id, id)) ?? false;
  }

  /** The open inquiries of the session, the oldest first. */
  openInquiries(): readonly Inquiry[] {
    return this.inquiries.open(({ sessionId }) => sessionId === this.id);
  }

  /** Answers an inquiry of this session: see `Sessions.answer`. Those of other sessions are `unknown`. */
  answer(inquiryId: string, answer: Omit<InquiryAnswer, "sessionId">): Promise<AnswerOutcome> {
    return this.inquiries.answer(inquiryId, { ...answer, sessionId: this.id });
  }

  /** The approvals that hold for the session. */
  approvals(): readonly StoredApproval[] {
    return this.#shared.approvals.list(this.place);
  }

  /** Revokes an approval that holds for the session. Returns `false` if there is none with this id. */
  async revokeApproval(id: string): Promise<boolean> {
    return this.#shared.approvals.revoke(this.place, id);
  }

  /** Cancels all turns with calls under way: see {@link Turn.cancel}. */
  async cancel(): Promise<void> {
    await Promise.all(Array.from(this.#active ?? [], (turn) => turn.cancel()));
  }

  /**
   * Cancels everything that is under way, and removes the session with its inquiries and approvals.
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
    await this.#shared.remove(this);
    if (this.state.changes === undefined) await this.changes.remove();
  }

  /**
   * Goes on with a message of an earlier process.
   *
   * @internal
   */
  resume(
    { turnId, userText, messageId: id, calls }: MessageRecord,
    ended: ReadonlySet<string>,
  ): ResumedMessage {
    const turn = this.#turns.get(turnId) ?? this.#addTurn(turnId, userText, false);
    return { turn, id, results: turn.resume(id, calls, ended) };
  }

  // What its turns need.

  /** @internal */
  get settings(): Settings {
    return this.#shared.settings;
  }

  /** @internal */
  get policy(): RuntimePolicy {
    return this.settings.context.policy;
  }

  /** @internal */
  get provenance(): ProvenanceLedger | undefined {
    if (this.policy.usesHistory !== true) return undefined;
    this.#provenance ??= new ProvenanceLedger(() => this.policy.trackedFields, {
      isLate: !this.#turns.isEmpty,
    });
    return this.#provenance;
  }

  /** @internal */
  admitMessage(): Refusal | undefined {
    return undefined;
  }

  /** @internal */
  get modeState(): ModeState {
    return this.#mode.state;
  }

  /** @internal */
  get holdChanges(): HoldChanges | undefined {
    return this.changes.hold;
  }

  /** @internal */
  get realWorkspace(): string | undefined {
    return this.state.realWorkspace;
  }

  /** @internal */
  get shadowPlace(): ShadowPlace | undefined {
    const shadow = this.state.realWorkspace;
    const workspace = shadow === undefined ? undefined : shadowedBy(shadow);
    return workspace === undefined ? undefined : { workspace, shadow: shadow as string };
  }

  /** @internal */
  openChanges(): Promise<void> {
    return holdsChanges(this.modeState.base) ? this.changes.open() : this.changes.restore();
  }

  /** @internal */
  get redaction(): Redaction {
    return this.#shared.redaction;
  }

  /** @internal */
  get trusted(): Partial<ClassLevels> | undefined {
    return this.state.trusted;
  }

  /** @internal */
  get quotas(): Quotas | undefined {
    return this.state.quotas;
  }

  /** @internal */
  get inquiries(): Inquiries {
    return this.#shared.inquiries;
  }

  /** @internal */
  get store(): GuardedStore | undefined {
    return this.#shared.store;
  }

  /** @internal */
  get isSuspended(): boolean {
    return this.#shared.isSuspended;
  }

  /** @internal */
  placesOf(tool: string): number {
    const own = this.registry.find(tool)?.tool.maxConcurrent ?? Number.POSITIVE_INFINITY;
    const { perTool } = this.settings;
    return perTool.size === 0 ? own : Math.min(own, perTool.get(tool) ?? own);
  }

  /** @internal */
  get approvalTable(): Approvals {
    return this.#shared.approvals;
  }

  /** @internal */
  get place(): ApprovalPlace {
    const { realWorkspace: workspace } = this.state;
    return {
      sessionId: this.id,
      ...(this.principal !== undefined && { principal: this.principal.id }),
      ...(workspace !== undefined && { workspace }),
    };
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
    this.#shared.resting.add(turn);
  }
}
