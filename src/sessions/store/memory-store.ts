import { LruMap } from "../../base/lru-map.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { type CallIdentity, claimState } from "../../record/identity.ts";
import type { Approval, StoredApproval } from "../approvals.ts";
import {
  type Confirmation,
  type ConfirmationRecord,
  confirmationInForce,
  isBelow,
  type Resolution,
} from "../confirmations/confirmation.ts";
import { SessionStoreError } from "../session-errors.ts";
import {
  type Claim,
  compareEnds,
  type LedgerRecord,
  type LedgerState,
  type LedgerTable,
  MAX_FORGOTTEN_TURNS,
  type MessageCallRecord,
  type MessageRecord,
  type SessionRecord,
  type SessionStore,
} from "./store.ts";

/** Stores the calls of ledgers in the memory of this process. */
class MemoryLedgerTable implements LedgerTable {
  readonly #entries = new Map<string, LedgerRecord>();
  #missingUntil: number | undefined = 0;

  putEntry(entry: LedgerRecord): void {
    this.#entries.set(entry.id, entry);
  }

  removeEntry(id: string): void {
    this.#entries.delete(id);
  }

  dropEntry(id: string, endedAt: number): void {
    this.#entries.delete(id);
    if (this.#missingUntil !== undefined) this.#missingUntil = Math.max(this.#missingUntil, endedAt);
  }

  resetLedger(missingUntil: number | undefined): void {
    this.#entries.clear();
    this.#missingUntil = missingUntil;
  }

  ledgerState(): LedgerState {
    const entries = [...this.#entries.values()].sort(compareEnds);
    return { entries, missingUntil: this.#missingUntil };
  }
}

interface Session {
  record: SessionRecord;
  readonly turns: Map<string, Turn>;
  /** `undefined` until the first. */
  forgotten?: LruMap<string, true>;
  readonly counts: Map<string, number>;
}

interface Turn {
  readonly messages: Map<string, Message>;
  readonly confirmations: string[];
}

interface Message {
  readonly record: MessageRecord;
  /** The number of messages that were added before. */
  readonly place: number;
  readonly calls: Map<string, Call>;
}

interface Call {
  /** Of the first who named the call. */
  readonly identity: CallIdentity;
  isCounted: boolean;
  isClaimed: boolean;
  execution: ToolExecution | undefined;
}

/** A session store in the memory of this process: nothing survives a restart. */
export class MemorySessionStore implements SessionStore {
  readonly ledger: LedgerTable = new MemoryLedgerTable();
  readonly #sessions = new Map<string, Session>();
  readonly #confirmations = new Map<string, ConfirmationRecord>();
  readonly #approvals = new Map<string, StoredApproval>();
  /** The sessions of removed approvals, by the ids of the approvals. */
  readonly #removedApprovals = new Map<string, string>();
  #messageCount = 0;

  addSession(record: SessionRecord): boolean {
    if (this.#sessions.has(record.id)) return false;
    this.#sessions.set(record.id, { record, turns: new Map(), counts: new Map() });
    return true;
  }

  setMode(sessionId: string, mode: string): void {
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) session.record = { ...session.record, mode };
  }

  removeSession(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return;
    for (const turnId of session.turns.keys()) this.removeTurn(sessionId, turnId);
    this.#sessions.delete(sessionId);
    for (const [id, { approval }] of this.#approvals) {
      if (approval.sessionId === sessionId && approval.for !== "workspace") this.#approvals.delete(id);
    }
    for (const [id, removed] of this.#removedApprovals) {
      if (removed === sessionId) this.#removedApprovals.delete(id);
    }
  }

  sessions(): readonly SessionRecord[] {
    return Array.from(this.#sessions.values(), ({ record }) => record);
  }

  addMessage(record: MessageRecord): MessageRecord | undefined {
    const { messages } = this.#turn(record.sessionId, record.turnId);
    const known = messages.get(record.messageId);
    if (known !== undefined) return known.record;
    messages.set(record.messageId, { record, place: this.#messageCount++, calls: new Map() });
    return undefined;
  }

  messages(sessionId: string, turnId: string): readonly MessageRecord[] {
    const messages = this.#sessions.get(sessionId)?.turns.get(turnId)?.messages.values() ?? [];
    return Array.from(messages, ({ record }) => record);
  }

  turnIds(sessionId: string): readonly string[] {
    const turns = this.#sessions.get(sessionId)?.turns ?? [];
    return Array.from(turns)
      .filter(([, { messages }]) => messages.size > 0)
      .map(([id]) => id);
  }

  unfinishedMessages(): readonly MessageRecord[] {
    const unfinished: Message[] = [];
    for (const { turns } of this.#sessions.values()) {
      for (const { messages } of turns.values()) {
        for (const message of messages.values()) {
          const { record, calls } = message;
          if (record.calls.some(({ id }) => calls.get(id)?.execution === undefined)) unfinished.push(message);
        }
      }
    }
    return unfinished.sort((one, other) => one.place - other.place).map(({ record }) => record);
  }

  removeTurn(sessionId: string, turnId: string): void {
    const session = this.#sessions.get(sessionId);
    const turn = session?.turns.get(turnId);
    if (session === undefined || turn === undefined) return;
    for (const id of turn.confirmations) this.#confirmations.delete(id);
    session.turns.delete(turnId);
    if (turn.messages.size === 0) return;
    session.forgotten ??= new LruMap(MAX_FORGOTTEN_TURNS);
    session.forgotten.set(turnId, true);
  }

  isForgotten(sessionId: string, turnId: string): boolean {
    return this.#sessions.get(sessionId)?.forgotten?.get(turnId) === true;
  }

  count(identity: CallIdentity, toolName: string): boolean {
    const call = this.#call(identity);
    if (call.isCounted) return false;
    call.isCounted = true;
    const { counts } = this.#session(identity.sessionId);
    counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
    return true;
  }

  isCounted(identity: CallIdentity): boolean {
    return this.#message(identity)?.calls.get(identity.callId)?.isCounted === true;
  }

  counts(sessionId: string): ReadonlyMap<string, number> {
    return new Map(this.#sessions.get(sessionId)?.counts);
  }

  claim(identity: CallIdentity): Claim {
    const call = this.#call(identity);
    const { execution, isClaimed } = call;
    const isEnded = execution !== undefined;
    const state = claimState(call.identity, identity, { isClaimed, isEnded });
    if (state === "ended" && isEnded) return { state, execution };
    if (state === "fresh") call.isClaimed = true;
    return { state } as Claim;
  }

  end(identity: CallIdentity, execution: ToolExecution): void {
    if (this.#message(identity) !== undefined) this.#call(identity).execution ??= execution;
  }

  calls(sessionId: string, turnId: string, messageId: string): readonly MessageCallRecord[] {
    const message = this.#message({ sessionId, turnId, messageId });
    return (message?.record.calls ?? []).map(({ id: callId }) => {
      const call = message?.calls.get(callId);
      if (call?.execution !== undefined) return { callId, state: "ended", execution: call.execution };
      return { callId, state: call?.isClaimed === true ? "begun" : "not-begun" };
    });
  }

  addConfirmation(confirmation: Confirmation): ConfirmationRecord | undefined {
    const { id, sessionId, turnId, messageId, callId, parent } = confirmation;
    const known = this.#confirmations.get(id);
    if (known !== undefined) return known;
    const { confirmations } = this.#turn(sessionId, turnId);
    const calls = parent === undefined ? undefined : this.#message(confirmation)?.calls.values();
    if (calls?.some(({ identity, execution }) => execution !== undefined && isBelow(confirmation, identity)))
      return undefined;
    const records = confirmations
      .map((each) => this.#confirmations.get(each))
      .filter((each) => each?.confirmation.callId === callId && each.confirmation.messageId === messageId);
    const standing = confirmationInForce(records as ConfirmationRecord[], confirmation);
    if (standing !== undefined) return standing;
    const record = { confirmation };
    confirmations.push(id);
    this.#confirmations.set(id, record);
    return record;
  }

  resolveConfirmation(id: string, resolution: Resolution): Resolution | undefined {
    const record = this.#confirmations.get(id);
    if (record === undefined || record.resolution !== undefined) return record?.resolution;
    this.#confirmations.set(id, { confirmation: record.confirmation, resolution });
    return resolution;
  }

  confirmation(id: string): ConfirmationRecord | undefined {
    return this.#confirmations.get(id);
  }

  pendingConfirmations(): readonly ConfirmationRecord[] {
    return Array.from(this.#confirmations.values()).filter(({ confirmation, resolution }) => {
      if (resolution === undefined) return true;
      const message = this.#message(confirmation);
      if (confirmation.parent !== undefined) {
        return message?.record.calls.some(({ id }) => {
          const caller = message.calls.get(id);
          const isUnderWay = caller?.isClaimed === true && caller.execution === undefined;
          return isUnderWay && confirmation.callId.startsWith(`${id}/`);
        });
      }
      const call = message?.calls.get(confirmation.callId);
      return call === undefined || !(call.isClaimed || call.execution !== undefined);
    });
  }

  addApproval(approval: Approval): boolean {
    if (this.#approvals.has(approval.id)) return true;
    if (this.#removedApprovals.has(approval.id)) return false;
    if (approval.for !== "workspace") this.#session(approval.sessionId);
    this.#approvals.set(approval.id, { approval, used: 0 });
    return true;
  }

  approvals(): readonly StoredApproval[] {
    return [...this.#approvals.values()];
  }

  useApproval(id: string): boolean {
    const stored = this.#approvals.get(id);
    if (stored === undefined) return false;
    const { approval, used } = stored;
    if (used >= (approval.calls ?? Number.POSITIVE_INFINITY)) return false;
    this.#approvals.set(id, { approval, used: used + 1 });
    return true;
  }

  removeApproval(id: string): boolean {
    const sessionId = this.#approvals.get(id)?.approval.sessionId;
    if (sessionId !== undefined && this.#sessions.has(sessionId)) this.#removedApprovals.set(id, sessionId);
    return this.#approvals.delete(id);
  }

  close(): void {}

  #session(sessionId: string): Session {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw new SessionStoreError("the session is not in the store");
    return session;
  }

  #turn(sessionId: string, turnId: string): Turn {
    const { turns } = this.#session(sessionId);
    let turn = turns.get(turnId);
    if (turn === undefined) {
      turn = { messages: new Map(), confirmations: [] };
      turns.set(turnId, turn);
    }
    return turn;
  }

  #message({
    sessionId,
    turnId,
    messageId = "",
  }: Pick<CallIdentity, "sessionId" | "turnId"> & Pick<Confirmation, "messageId">): Message | undefined {
    return this.#sessions.get(sessionId)?.turns.get(turnId)?.messages.get(messageId);
  }

  #call(identity: CallIdentity): Call {
    const message = this.#message(identity);
    if (message === undefined) throw new SessionStoreError("the message of the call is not in the store");
    let call = message.calls.get(identity.callId);
    if (call === undefined) {
      call = { identity, isCounted: false, isClaimed: false, execution: undefined };
      message.calls.set(identity.callId, call);
    }
    return call;
  }
}
