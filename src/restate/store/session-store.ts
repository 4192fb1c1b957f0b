import { mapSome } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { CallIdentity } from "../../record/identity.ts";
import type { Approval, StoredApproval } from "../../sessions/approvals.ts";
import type {
  CallKey,
  Confirmation,
  ConfirmationRecord,
  Resolution,
} from "../../sessions/confirmations/confirmation.ts";
import type { CountShared, SharedCount } from "../../sessions/quotas.ts";
import { TooManySessionsError } from "../../sessions/session-errors.ts";
import {
  type Claim,
  compareEnds,
  type LedgerRecord,
  type LedgerState,
  type LedgerTable,
  type MessageCallRecord,
  type MessageRecord,
  type SessionRecord,
  type SessionStore,
} from "../../sessions/store/store.ts";
import { RestateHandlerError } from "../connection/ingress.ts";
import { TOO_MANY } from "../objects/handlers.ts";
import {
  approvalsObject,
  canBeInKey,
  confirmationObject,
  indexObject,
  indexObjects,
  ledgerObject,
  type ObjectAddress,
  type StorePlace,
  sessionObject,
} from "../objects/object-keys.ts";
import type { IndexedSession, StoredLedger } from "../objects/services.ts";
import type { CallOfSession } from "../objects/session/call-handlers.ts";
import type { WaitingInSession } from "../objects/session/session-handlers.ts";
import { recordOf, type StoredRecord } from "../objects/session/session-state.ts";
import {
  DEFAULT_TIMEOUT_MS,
  isTooLong,
  type RestateStoreOptions,
  StoreClient,
  tooLongExecution,
} from "./store-client.ts";

/** Stores the calls of ledgers on Restate. */
class RestateLedgerTable implements LedgerTable {
  readonly #client: StoreClient;
  readonly #object: ObjectAddress;

  constructor(client: StoreClient, object: ObjectAddress) {
    this.#client = client;
    this.#object = object;
  }

  putEntry(entry: LedgerRecord): Promise<void> {
    return this.#client.write(this.#object, "put", entry);
  }

  removeEntry(id: string): Promise<void> {
    return this.#client.write(this.#object, "remove", id);
  }

  dropEntry(id: string, endedAt: number): Promise<void> {
    return this.#client.write(this.#object, "drop", { id, endedAt });
  }

  resetLedger(missingUntil: number | undefined): Promise<void> {
    return this.#client.write(this.#object, "reset", { missingUntil: missingUntil ?? null });
  }

  async ledgerState(): Promise<LedgerState> {
    const { entries, missingUntil } = await this.#client.read<StoredLedger>(this.#object, "read");
    const sorted = [...entries].sort(compareEnds);
    return { entries: sorted, missingUntil: missingUntil ?? undefined };
  }
}

/**
 * Stores sessions in virtual objects of Restate, which several servers can share: one of them claims a call, and the first
 * answer to a confirmation wins. An operation that is rejected because Restate cannot be reached may still have been written.
 */
export class RestateSessionStore implements SessionStore {
  readonly ledger: LedgerTable;
  /**
   * Calls the objects of the store.
   *
   * @internal
   */
  readonly client: StoreClient;
  readonly #store: StorePlace;

  constructor({ ingress, prefix = "", timeoutMs = DEFAULT_TIMEOUT_MS }: RestateStoreOptions) {
    this.#store = { prefix };
    this.client = new StoreClient({ ingress, timeoutMs, pinged: indexObject(this.#store, "") });
    this.ledger = new RestateLedgerTable(this.client, ledgerObject(this.#store));
  }

  get problem(): string | undefined {
    return this.client.problem;
  }

  /** @throws {TooManySessionsError} as a rejection, if the principal has 1,000 open sessions, on all servers. */
  async addSession(record: SessionRecord): Promise<boolean> {
    const added = { store: this.#store, record, place: this.client.nextPlace() };
    try {
      return await this.#session(record.id, "add", added);
    } catch (error) {
      if (!(error instanceof RestateHandlerError && error.status === TOO_MANY)) throw error;
      throw new TooManySessionsError(error.message);
    }
  }

  setMode(sessionId: string, mode: string): Promise<void> {
    return this.#session(sessionId, "setMode", { store: this.#store, mode });
  }

  removeSession(sessionId: string): Promise<void> {
    return this.#session(sessionId, "remove", { store: this.#store });
  }

  sessions(): Promise<readonly SessionRecord[]> {
    return readSessions(this.client, this.#store);
  }

  addMessage(message: MessageRecord): Promise<MessageRecord | undefined> {
    return this.#session(message.sessionId, "addMessage", { message, place: this.client.nextPlace() });
  }

  messages(sessionId: string, turnId: string): Promise<readonly MessageRecord[]> {
    return this.#readSession(sessionId, "messages", turnId);
  }

  turnIds(sessionId: string): Promise<readonly string[]> {
    return this.#readSession(sessionId, "turnIds");
  }

  async unfinishedMessages(): Promise<readonly MessageRecord[]> {
    const { messages } = await readWaiting(this.client, this.#store);
    return messages.map(({ message }) => message);
  }

  removeTurn(sessionId: string, turnId: string): Promise<void> {
    return this.#session(sessionId, "removeTurn", { store: this.#store, turnId });
  }

  isForgotten(sessionId: string, turnId: string): Promise<boolean> {
    return this.#readSession(sessionId, "isForgotten", turnId);
  }

  count(identity: CallIdentity, toolName: string): Promise<boolean> {
    return this.#session(identity.sessionId, "count", { call: callOf(identity), toolName });
  }

  /** Counts a call, unless that would exceed a limit of its session. */
  countWithin(...[identity, toolName, limits]: Parameters<CountShared>): Promise<SharedCount> {
    return this.#session(identity.sessionId, "countWithin", { call: callOf(identity), toolName, ...limits });
  }

  isCounted(identity: CallIdentity): Promise<boolean> {
    return this.#readSession(identity.sessionId, "isCounted", callOf(identity));
  }

  async counts(sessionId: string): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.#readSession<readonly (readonly [string, number])[]>(sessionId, "counts"));
  }

  claim(identity: CallIdentity): Promise<Claim> {
    return this.#session(identity.sessionId, "claim", callOf(identity));
  }

  async end(identity: CallIdentity, execution: ToolExecution): Promise<void> {
    const call = callOf(identity);
    try {
      await this.#session(identity.sessionId, "end", { call, execution });
    } catch (thrown) {
      if (!isTooLong(thrown)) throw thrown;
      // Otherwise, the end would be tried again and again, and no call would begin meanwhile.
      await this.#session(identity.sessionId, "end", { call, execution: tooLongExecution(execution) });
    }
  }

  async calls(sessionId: string, turnId: string, messageId: string): Promise<readonly MessageCallRecord[]> {
    const message = { turnId, messageId };
    const calls = await this.#readSession<readonly MessageCallRecord[]>(sessionId, "calls", message);
    return mapSome(calls, async (call): Promise<MessageCallRecord> => {
      if (call.state !== "ended" || call.execution !== undefined) return call;
      const place = { ...message, callId: call.callId };
      const execution = await this.#readSession<ToolExecution | undefined>(sessionId, "execution", place);
      // Its turn was removed meanwhile.
      if (execution === undefined) return { callId: call.callId, state: "begun" };
      return { ...call, execution };
    });
  }

  async addConfirmation(confirmation: Confirmation): Promise<ConfirmationRecord | undefined> {
    const input = { store: this.#store, inquiry: confirmation, place: this.client.nextPlace() };
    const stored = await this.#session<StoredRecord | undefined>(confirmation.sessionId, "addInquiry", input);
    return stored && recordOf(stored);
  }

  /**
   * Ends that people are asked about the calls of a call's tool, at a time in ms since the epoch. Returns the ids of what was
   * asked.
   *
   * @internal
   */
  endAsking({ sessionId, turnId, messageId, callId }: CallKey, at: number): Promise<readonly string[]> {
    const call = { turnId, messageId, callId };
    return this.#session(sessionId, "endAsking", { store: this.#store, call, at });
  }

  async resolveConfirmation(id: string, resolution: Resolution): Promise<Resolution | undefined> {
    if (!canBeInKey(id)) return undefined;
    return this.client.write(confirmationObject(this.#store, id), "resolve", resolution);
  }

  async confirmation(id: string): Promise<ConfirmationRecord | undefined> {
    if (!canBeInKey(id)) return undefined;
    const stored = await this.client.read<StoredRecord | undefined>(
      confirmationObject(this.#store, id),
      "read",
    );
    return stored && recordOf(stored);
  }

  /**
   * Returns the confirmations about a call, in the order in which they were asked.
   *
   * @internal
   */
  async confirmationsOf({
    sessionId,
    turnId,
    messageId,
    callId,
  }: CallKey): Promise<readonly ConfirmationRecord[]> {
    const call = { turnId, messageId, callId };
    const ids = await this.#readSession<readonly string[]>(sessionId, "inquiriesOf", call);
    const records = await mapSome(ids, (id) => this.confirmation(id));
    return records.filter((record) => record !== undefined);
  }

  async pendingConfirmations(): Promise<readonly ConfirmationRecord[]> {
    const { inquiries: confirmations } = await readWaiting(this.client, this.#store);
    const records = await mapSome(confirmations, async ({ id, isListedIfResolved }) => {
      const record = await this.confirmation(id);
      return record?.resolution === undefined || isListedIfResolved ? record : undefined;
    });
    return records.filter((record) => record !== undefined);
  }

  addApproval(approval: Approval): Promise<boolean> {
    const place = this.client.nextPlace();
    if (approval.for === "workspace") {
      return this.client.write(approvalsObject(this.#store), "add", { approval, place });
    }
    return this.#session(approval.sessionId, "addApproval", { store: this.#store, approval, place });
  }

  approvals(): Promise<readonly StoredApproval[]> {
    return this.client.read(approvalsObject(this.#store), "list");
  }

  useApproval(id: string): Promise<boolean> {
    return this.client.write(approvalsObject(this.#store), "use", id);
  }

  removeApproval(id: string): Promise<boolean> {
    return this.client.write(approvalsObject(this.#store), "remove", id);
  }

  close(): void {
    this.client.close();
  }

  #readSession<Result>(sessionId: string, handler: string, input?: unknown): Promise<Result> {
    return this.client.read(sessionObject(this.#store, sessionId), handler, input);
  }

  #session<Result>(sessionId: string, handler: string, input?: unknown): Promise<Result> {
    return this.client.write(sessionObject(this.#store, sessionId), handler, input);
  }
}

function callOf({ turnId, messageId, callId, digest }: CallIdentity): CallOfSession {
  return { turnId, messageId, callId, digest };
}

/** Returns all sessions of a store, in the order in which they were added. */
async function readSessions(client: StoreClient, store: StorePlace): Promise<readonly SessionRecord[]> {
  const parts = await Promise.all(
    indexObjects(store).map((object) => client.read<readonly IndexedSession[]>(object, "list")),
  );
  return parts
    .flat()
    .sort(byPlace)
    .map(({ record }) => record);
}

/** Returns what waits in all sessions of a store, in the order in which it was added. */
async function readWaiting(client: StoreClient, store: StorePlace): Promise<WaitingInSession> {
  const sessions = await readSessions(client, store);
  const waiting = await mapSome(sessions, ({ id }) =>
    client.read<WaitingInSession>(sessionObject(store, id), "waiting"),
  );
  return {
    messages: waiting.flatMap(({ messages }) => messages).sort(byPlace),
    inquiries: waiting.flatMap(({ inquiries: confirmations }) => confirmations).sort(byPlace),
  };
}

function byPlace(one: { readonly place: number }, other: { readonly place: number }): number {
  return one.place - other.place;
}
