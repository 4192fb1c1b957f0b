import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { Key, OwnedRange } from "../../record/backend.ts";
import { type CallAddress, type CallIdentity, type ClaimState, claimState } from "../../record/identity.ts";
import { inOrder, type Operation, type Operations, type Transaction } from "../../record/operations.ts";
import {
  type CallKey,
  type Confirmation,
  type ConfirmationRecord,
  confirmationInForce,
  type Resolution,
} from "../confirmations/confirmation.ts";
import { SessionStoreError, TooManySessionsError } from "../session-errors.ts";
import {
  compareEnds,
  type LedgerRecord,
  type LedgerState,
  type LedgerTable,
  MAX_FORGOTTEN_TURNS,
  type MessageRecord,
  type SessionRecord,
} from "./store.ts";

/** Under `call/SESSION/TURN/MESSAGE/CALL`: how far a call has come; nested ones only if they were counted. */
export interface CallEntry {
  readonly callId: string;
  /** Of the first who named the call. */
  readonly digest: string;
  readonly isCounted?: true;
  readonly isClaimed?: true;
  /** Set with `isClaimed` if the call may be run again after its process was lost. */
  readonly isRepeatable?: boolean;
  /** People are no longer asked about the calls that its tool makes. */
  readonly asksNobody?: true;
  /** Set when it has ended. */
  readonly execution?: ToolExecution;
}

/** A message that is to be added. */
export interface NewMessage {
  readonly message: MessageRecord;
  /** Whether it is refused if its turn was forgotten. Default: `false`. */
  readonly refusesForgotten?: boolean;
}

/** What a session has besides its record. Its confirmations and approvals have tables of their own. */
const TABLES_OF_SESSION = [
  "turn",
  "message",
  "call",
  "unfinished",
  "last",
  "cancelled",
  "count",
  "forgotten",
  "forgottenAt",
  "asked",
  "approvalOf",
  "removedOf",
] as const;

/** The tables with what a turn has, by session and turn. */
const TABLES_OF_TURN = ["message", "call", "unfinished", "asked"] as const;

/**
 * Returns `false` if the id is in use.
 *
 * @param most How many sessions a principal can have, of all processes; those without a principal share this number. Default: any.
 */
export function* addSession(
  transaction: Transaction,
  record: SessionRecord,
  most: number | undefined,
): Operation<boolean> {
  const { id, principal } = record;
  const owner = principal?.id ?? "";
  if ((yield* transaction.get(["session", id])) !== undefined) return false;
  if (most !== undefined) {
    const [ofPrincipal = []] = yield* transaction.entries({ below: ["sessionOf", owner] });
    if (ofPrincipal.length >= most) {
      throw new TooManySessionsError("the principal has too many open sessions");
    }
    transaction.put(["sessionOf", owner, id], id);
  }
  transaction.put(["session", id], record);
  return true;
}

export function* removeSession(transaction: Transaction, id: string): Operation<void> {
  const [[session] = [], asked = [], approvals = [], removed = []] = yield* transaction.entries<unknown>(
    { key: ["session", id] },
    { below: ["asked", id] },
    { below: ["approvalOf", id] },
    { below: ["removedOf", id] },
  );
  if (session === undefined) return;
  for (const { value } of asked) removeConfirmation(transaction, value as string);
  for (const { value } of approvals) transaction.remove(["approval", value as string]);
  for (const { value } of removed) transaction.remove(["removed", value as string]);
  for (const table of TABLES_OF_SESSION) transaction.removeBelow([table, id]);
  transaction.remove(["forgottenAt", id]);
  transaction.remove(["session", id]);
  transaction.remove(["sessionOf", (session.value as SessionRecord).principal?.id ?? "", id]);
}

function removeConfirmation(transaction: Transaction, id: string): void {
  transaction.remove(["confirmation", id]);
  transaction.remove(["open", "all", id]);
}

/** Returns the message that is known by this id; nothing if it is new. */
export function* addMessage(
  transaction: Transaction,
  { message, refusesForgotten = false }: NewMessage,
): Operation<MessageRecord | "forgotten" | undefined> {
  const { sessionId, turnId, messageId } = message;
  const [[session] = [], [known] = [], [turn] = [], [forgotten] = []] = yield* transaction.entries(
    { key: ["session", sessionId] },
    { key: ["message", sessionId, turnId, messageId] },
    { key: ["turn", sessionId, turnId] },
    { key: ["forgotten", sessionId, turnId] },
  );
  if (session === undefined) throw new SessionStoreError("the session is not in the store");
  if (known !== undefined) return known.value as MessageRecord;
  if (refusesForgotten && forgotten !== undefined && turn === undefined) return "forgotten";
  transaction.put(["message", sessionId, turnId, messageId], message);
  if (turn === undefined) transaction.put(["turn", sessionId, turnId], turnId);
  return undefined;
}

/** Returns whether the turn had messages. */
export function* removeTurn(transaction: Transaction, sessionId: string, turnId: string): Operation<boolean> {
  const [[turn] = [], asked = [], messages = []] = yield* transaction.entries<unknown>(
    { key: ["turn", sessionId, turnId] },
    { below: ["asked", sessionId, turnId] },
    { below: ["message", sessionId, turnId] },
  );
  for (const { value } of asked) removeConfirmation(transaction, value as string);
  if (turn === undefined && asked.length === 0) return false;
  for (const table of TABLES_OF_TURN) transaction.removeBelow([table, sessionId, turnId]);
  transaction.remove(["turn", sessionId, turnId]);
  transaction.remove(["cancelled", sessionId, turnId]);
  return messages.length > 0;
}

/** Remembers that a turn was there, and drops the oldest of those that are remembered if there are too many. */
export function* forget(transaction: Transaction, sessionId: string, turnId: string): Operation<void> {
  const count = (yield* transaction.get<number>(["forgottenAt", sessionId])) ?? 0;
  const oldestKey: Key = ["forgottenAt", sessionId, String(count - MAX_FORGOTTEN_TURNS)];
  const oldest = yield* transaction.get<string>(oldestKey);
  if (oldest !== undefined) {
    transaction.remove(oldestKey);
    // It can have begun again, and been removed again later.
    const number = yield* transaction.get<number>(["forgotten", sessionId, oldest]);
    if (number === count - MAX_FORGOTTEN_TURNS) transaction.remove(["forgotten", sessionId, oldest]);
  }
  transaction.put(["forgottenAt", sessionId], count + 1);
  transaction.put(["forgottenAt", sessionId, String(count)], turnId);
  transaction.put(["forgotten", sessionId, turnId], count);
}

/** Who claims a call may say whether it can run again, and whether it may run although it was begun by a process that was lost. */
export interface ClaimOptions {
  readonly isRepeatable?: boolean;
  /** Default: `false`. */
  readonly mayRepeat?: boolean;
}

/** Returns the state of a call of which nothing is stored yet. No state has another origin, so that each has a digest. */
export function firstState({ callId, digest }: CallIdentity): CallEntry {
  return { callId, digest };
}

export function hasEnded({ execution }: CallEntry): boolean {
  return execution !== undefined;
}

function stateOfClaim(known: CallEntry, identity: CallIdentity): ClaimState {
  return claimState(known, identity, { isClaimed: known.isClaimed === true, isEnded: hasEnded(known) });
}

/** Claims a call, of which `known` is stored. */
export function claimCall(
  transaction: Transaction,
  known: CallEntry,
  identity: CallIdentity,
  { isRepeatable, mayRepeat = false }: ClaimOptions = {},
): ClaimState {
  const answer = stateOfClaim(known, identity);
  const isRepeated = answer === "begun" && mayRepeat && isRepeatable === true && known.isRepeatable === true;
  if (answer !== "fresh" && !isRepeated) return answer;
  const claimed: CallEntry = { ...known, isClaimed: true };
  transaction.put(keyOfCall(identity), isRepeatable === undefined ? claimed : { ...claimed, isRepeatable });
  return "fresh";
}

/** Ends a call, of which `known` is stored. One that has ended stays as it is. */
export function endCall(
  transaction: Transaction,
  known: CallEntry,
  address: CallAddress,
  execution: ToolExecution,
): void {
  if (known.execution === undefined)
    transaction.put(keyOfCall(address), { ...known, execution } satisfies CallEntry);
}

/** Where the state of a call is stored. */
export function keyOfCall({ sessionId, turnId, messageId, callId }: CallAddress): Key {
  return ["call", sessionId, turnId, messageId, callId];
}

/** How many ids of callers are read one by one. The ids that models choose can have any number of slashes. */
const MAX_CALLERS = 16;

/** Where the states are stored of the calls whose tools made a call, as far as there are such. Other calls may be there, too. */
function rangesOfCallers({ sessionId, turnId, messageId = "", callId }: CallKey): readonly OwnedRange[] {
  const parts = callId.split("/");
  if (parts.length > MAX_CALLERS) return [{ below: ["call", sessionId, turnId, messageId] }];
  return parts
    .slice(1)
    .map((_, index) => ["call", sessionId, turnId, messageId, parts.slice(0, index + 1).join("/")] as const)
    .map((key) => ({ key }));
}

/** The outcome of a count: it was counted now or before, or a limit is exhausted. */
export type CountedOnce = "counted" | "known" | "calls" | "tool";

/** Counts a call, unless it was counted before, or that would exceed a limit. */
export function* countWithin(
  transaction: Transaction,
  identity: CallIdentity,
  tool: string,
  { calls, callsOfTool }: { readonly calls: number; readonly callsOfTool: number },
): Operation<CountedOnce> {
  const { sessionId, turnId, messageId } = identity;
  const key = keyOfCall(identity);
  const [[message] = [], [found] = [], counts = []] = yield* transaction.entries<unknown>(
    { key: ["message", sessionId, turnId, messageId] },
    { key },
    { below: ["count", sessionId] },
  );
  if (message === undefined) throw new SessionStoreError("the message of the call is not in the store");
  const state = (found?.value as CallEntry | undefined) ?? firstState(identity);
  if (state.isCounted) return "known";
  const counted = new Map(counts.map(({ value }) => value as readonly [string, number]));
  const ofTool = counted.get(tool) ?? 0;
  if ([...counted.values()].reduce((sum, count) => sum + count, 0) >= calls) return "calls";
  if (ofTool >= callsOfTool) return "tool";
  transaction.put(key, { ...state, isCounted: true });
  transaction.put(["count", sessionId, tool], [tool, ofTool + 1]);
  return "counted";
}

/** Adds a confirmation, unless one is in force: see `ConfirmationTable`. */
export function* addConfirmation(
  transaction: Transaction,
  confirmation: Confirmation,
): Operation<ConfirmationRecord | undefined> {
  const { id, sessionId, turnId, messageId = "", callId, parent } = confirmation;
  const about: Key = ["asked", sessionId, turnId, messageId, callId];
  const [[known] = [], [session] = [], asked = []] = yield* transaction.entries<unknown>(
    { key: ["confirmation", id] },
    { key: ["session", sessionId] },
    { below: about },
  );
  if (known !== undefined) return known.value as ConfirmationRecord;
  if (session === undefined) throw new SessionStoreError("the session is not in the store");
  if (parent !== undefined) {
    const states = (yield* transaction.entries<CallEntry>(...rangesOfCallers(confirmation))).flat();
    const isOver = states.some(
      ({ value }) => isCaller(value, confirmation) && (hasEnded(value) || value.asksNobody === true),
    );
    if (isOver) return undefined;
  }
  const ids = [...asked]
    .sort((one, other) => one.created - other.created)
    .map(({ value }) => value as string);
  const records: ConfirmationRecord[] = [];
  for (const each of ids) {
    const record = yield* transaction.get<ConfirmationRecord>(["confirmation", each]);
    if (record !== undefined) records.push(record);
  }
  const standing = confirmationInForce(records, confirmation);
  if (standing !== undefined) return standing;
  const record: ConfirmationRecord = { confirmation };
  transaction.put(["confirmation", id], record);
  transaction.put([...about, id] as unknown as Key, id);
  return record;
}

export function* resolveConfirmation(
  transaction: Transaction,
  id: string,
  resolution: Resolution,
): Operation<Resolution | undefined> {
  const known = yield* transaction.get<ConfirmationRecord>(["confirmation", id]);
  if (known === undefined || known.resolution !== undefined) return known?.resolution;
  transaction.put(["confirmation", id], {
    confirmation: known.confirmation,
    resolution,
  } satisfies ConfirmationRecord);
  transaction.remove(["open", "all", id]);
  return resolution;
}

/** Where the states of calls are stored that {@link isListedIfResolved} needs. */
export function rangesOfAsking(confirmation: Confirmation): readonly OwnedRange[] {
  const { sessionId, turnId, messageId = "", callId, parent } = confirmation;
  return parent === undefined
    ? [{ key: keyOfCall({ sessionId, turnId, messageId, callId }) }]
    : rangesOfCallers(confirmation);
}

/** Whether a confirmation still waits although it is resolved: see `ConfirmationTable.pendingConfirmations`. */
export function isListedIfResolved(confirmation: Confirmation, states: readonly CallEntry[]): boolean {
  if (confirmation.parent === undefined)
    return states.every((state) => state.isClaimed !== true && !hasEnded(state));
  return states.some(
    (state) => isCaller(state, confirmation) && state.isClaimed === true && !hasEnded(state),
  );
}

/** Whether the tool of a call of the same message made a call, directly or not. */
function isCaller({ callId }: CallEntry, { callId: made }: CallKey): boolean {
  return made.startsWith(`${callId}/`);
}

/** The table and owner of ledgers: batches that concern them are applied one after the other. */
const LEDGER = ["ledger", "all"] as const;
const MISSING: Key = ["missing", "all"];

/** Stores the calls of ledgers over a backend. */
export class RecordedLedgerTable implements LedgerTable {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  putEntry(entry: LedgerRecord): MaybePromise<void> {
    return this.#operations.apply({ key: [...LEDGER, entry.id], value: entry });
  }

  removeEntry(id: string): MaybePromise<void> {
    return this.#operations.apply({ key: [...LEDGER, id], remove: true });
  }

  dropEntry(id: string, endedAt: number): MaybePromise<void> {
    return this.#operations.writeInOrder("ledger", function* (transaction) {
      transaction.remove([...LEDGER, id]);
      const missing = yield* transaction.get<number | null>(MISSING);
      // It stays unknown (null) if it was.
      if (missing !== null) transaction.put(MISSING, Math.max(missing ?? 0, endedAt));
    });
  }

  resetLedger(missingUntil: number | undefined): MaybePromise<void> {
    return this.#operations.apply(
      { below: LEDGER, remove: true },
      { key: MISSING, value: missingUntil ?? null },
    );
  }

  ledgerState(): MaybePromise<LedgerState> {
    return this.#operations.read([{ below: LEDGER }, { key: MISSING }], (found = [], [missing] = []) => ({
      entries: [...inOrder<LedgerRecord>(found)].sort(compareEnds),
      missingUntil: missing === undefined ? 0 : (missing.value ?? undefined),
    }));
  }
}
