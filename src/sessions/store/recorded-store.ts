import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { Backend, Entry, Key, Range } from "../../record/backend.ts";
import { type CallIdentity, identityOf } from "../../record/identity.ts";
import { inOrder, type Operation, Operations, type Transaction, wait } from "../../record/operations.ts";
import type { Approval, StoredApproval } from "../approvals.ts";
import type { CallKey, Confirmation, ConfirmationRecord, Resolution } from "../confirmations/confirmation.ts";
import { SessionStoreError } from "../session-errors.ts";
import {
  addConfirmation,
  addMessage,
  addSession,
  type CallEntry,
  type CountedOnce,
  claimCall,
  countWithin,
  endCall,
  firstState,
  forget,
  hasEnded,
  isListedIfResolved,
  keyOfCall,
  RecordedLedgerTable,
  rangesOfAsking,
  removeSession,
  removeTurn,
  resolveConfirmation,
} from "./recorded-operations.ts";
import type {
  Claim,
  LedgerTable,
  MessageCallRecord,
  MessageRecord,
  SessionRecord,
  SessionStore,
} from "./store.ts";

const NO_LIMITS = { calls: Number.POSITIVE_INFINITY, callsOfTool: Number.POSITIVE_INFINITY };

/** Maximum number of open sessions of one principal, of all processes. */
const MAX_SESSIONS = 1_000;

/** A session store over a backend, which several processes can share. */
export class RecordedSessionStore implements SessionStore {
  readonly ledger: LedgerTable;
  /** @internal */
  readonly operations: Operations;

  /** @param backend The store closes it. */
  constructor(backend: Backend) {
    this.operations = new Operations(
      backend,
      (cause) => new SessionStoreError(`the session store failed: ${cause.message}`, { cause }),
    );
    this.ledger = new RecordedLedgerTable(this.operations);
  }

  get isOrdered(): boolean {
    return this.operations.backend.isSerial;
  }

  get problem(): string | undefined {
    return this.operations.backend.problem;
  }

  /** @throws {TooManySessionsError} as a rejection, if several processes write and the principal has 1,000 open sessions of them. */
  addSession(record: SessionRecord): MaybePromise<boolean> {
    const owner = `sessions of ${record.principal?.id ?? ""}`;
    // One that is alone counts them itself.
    const most = this.operations.backend.isSerial ? undefined : MAX_SESSIONS;
    return this.operations.writeInOrder(owner, (transaction) => addSession(transaction, record, most));
  }

  setMode(sessionId: string, mode: string): MaybePromise<void> {
    return this.operations.write(function* (transaction) {
      const record = yield* transaction.get<SessionRecord>(["session", sessionId]);
      if (record !== undefined) transaction.put(["session", sessionId], { ...record, mode });
    });
  }

  removeSession(sessionId: string): MaybePromise<void> {
    return this.operations.writeInOrder(sessionId, (transaction) => removeSession(transaction, sessionId));
  }

  sessions(): MaybePromise<readonly SessionRecord[]> {
    return this.operations.read([{ below: ["session"] }], (found = []) => inOrder<SessionRecord>(found));
  }

  /** Returns a session as it is now; `undefined` if it is unknown. */
  session(id: string): MaybePromise<SessionRecord | undefined> {
    return this.operations.read([{ key: ["session", id] }], ([found] = []) => found?.value);
  }

  addMessage(message: MessageRecord): MaybePromise<MessageRecord | undefined> {
    return this.operations.write((transaction) => addMessage(transaction, { message })) as MaybePromise<
      MessageRecord | undefined
    >;
  }

  messages(sessionId: string, turnId: string): MaybePromise<readonly MessageRecord[]> {
    return this.operations.read([{ below: ["message", sessionId, turnId] }], (found = []) =>
      inOrder<MessageRecord>(found),
    );
  }

  turnIds(sessionId: string): MaybePromise<readonly string[]> {
    return this.operations.read([{ below: ["turn", sessionId] }], (found = []) => inOrder<string>(found));
  }

  unfinishedMessages(): MaybePromise<readonly MessageRecord[]> {
    const { backend } = this.operations;
    return this.operations.readMore(function* () {
      const unfinished: Entry<MessageRecord>[] = [];
      const [sessions = []] = (yield* wait(
        backend.read([{ below: ["session"] }]),
      )) as Entry<SessionRecord>[][];
      for (const { value: session } of sessions) {
        const [turns = []] = (yield* wait(
          backend.read([{ below: ["turn", session.id] }]),
        )) as Entry<string>[][];
        // One turn after the other: all of them together can be larger than the memory.
        for (const { value: turnId } of turns) {
          const [messages = []] = (yield* wait(
            backend.read([{ below: ["message", session.id, turnId] }]),
          )) as Entry<MessageRecord>[][];
          const ranges = messages.map(
            ({ value }): Range => ({ below: ["call", session.id, turnId, value.messageId] }),
          );
          const states = (yield* wait(backend.read(ranges))) as Entry<CallEntry>[][];
          unfinished.push(
            ...messages.filter(({ value }, index) => {
              const ended = (states[index] ?? []).filter((state) => hasEnded(state.value));
              const ids = new Set(ended.map((state) => state.value.callId));
              return value.calls.some(({ id }) => !ids.has(id));
            }),
          );
        }
      }
      return inOrder(unfinished);
    });
  }

  removeTurn(sessionId: string, turnId: string): MaybePromise<void> {
    return this.operations.writeInOrder(sessionId, function* (transaction) {
      if (yield* removeTurn(transaction, sessionId, turnId)) yield* forget(transaction, sessionId, turnId);
    });
  }

  isForgotten(sessionId: string, turnId: string): MaybePromise<boolean> {
    return this.operations.read(
      [{ key: ["forgotten", sessionId, turnId] }],
      ([found] = []) => found !== undefined,
    );
  }

  count(identity: CallIdentity, toolName: string): MaybePromise<boolean> {
    const counted = this.countOnce(identity, toolName, NO_LIMITS);
    return counted instanceof Promise ? counted.then((each) => each === "counted") : counted === "counted";
  }

  /** Counts a call, unless it was counted before, or that would exceed a limit of its session. */
  countOnce(
    identity: CallIdentity,
    tool: string,
    limits: { readonly calls: number; readonly callsOfTool: number },
  ): MaybePromise<CountedOnce> {
    return this.operations.writeInOrder(`counts of ${identity.sessionId}`, (transaction) =>
      countWithin(transaction, identity, tool, limits),
    );
  }

  isCounted(identity: CallIdentity): MaybePromise<boolean> {
    return this.operations.read(
      [{ key: keyOfCall(identity) }],
      ([found] = []) => found?.value.isCounted === true,
    );
  }

  counts(sessionId: string): MaybePromise<ReadonlyMap<string, number>> {
    return this.operations.read(
      [{ below: ["count", sessionId] }],
      (found = []) => new Map(inOrder<readonly [string, number]>(found)),
    );
  }

  claim(identity: CallIdentity): MaybePromise<Claim> {
    return this.operations.write(function* (transaction): Operation<Claim> {
      const known = yield* stateOf(transaction, identity);
      if (known === undefined) throw new SessionStoreError("the message of the call is not in the store");
      const state = claimCall(transaction, known, identity);
      if (known.execution !== undefined && state === "ended") return { state, execution: known.execution };
      return { state } as Claim;
    });
  }

  end(identity: CallIdentity, execution: ToolExecution): MaybePromise<void> {
    return this.operations.write(function* (transaction) {
      const known = yield* stateOf(transaction, identity);
      if (known !== undefined) endCall(transaction, known, identity, execution);
    });
  }

  calls(sessionId: string, turnId: string, messageId: string): MaybePromise<readonly MessageCallRecord[]> {
    const ranges: readonly Range[] = [
      { key: ["message", sessionId, turnId, messageId] },
      { below: ["call", sessionId, turnId, messageId] },
    ];
    return this.operations.read(ranges, ([message] = [], found = []) => {
      const states = new Map(found.map(({ value }: Entry<CallEntry>) => [value.callId, value]));
      const { calls } = (message?.value ?? { calls: [] }) as Pick<MessageRecord, "calls">;
      return calls.map(({ id: callId }): MessageCallRecord => {
        const state = states.get(callId);
        if (state?.execution !== undefined) return { callId, state: "ended", execution: state.execution };
        return { callId, state: state?.isClaimed ? "begun" : "not-begun" };
      });
    });
  }

  addConfirmation(confirmation: Confirmation): MaybePromise<ConfirmationRecord | undefined> {
    return this.operations.write((transaction) => addConfirmation(transaction, confirmation));
  }

  resolveConfirmation(id: string, resolution: Resolution): MaybePromise<Resolution | undefined> {
    return this.operations.write((transaction) => resolveConfirmation(transaction, id, resolution));
  }

  confirmation(id: string): MaybePromise<ConfirmationRecord | undefined> {
    return this.operations.read([{ key: ["confirmation", id] }], ([found] = []) => found?.value);
  }

  pendingConfirmations(): MaybePromise<readonly ConfirmationRecord[]> {
    const { backend } = this.operations;
    return this.operations.readMore(function* () {
      const [found = []] = (yield* wait(
        backend.read([{ below: ["confirmation"] }]),
      )) as Entry<ConfirmationRecord>[][];
      const pending: Entry<ConfirmationRecord>[] = [];
      for (const entry of found) {
        const { confirmation, resolution } = entry.value;
        const states =
          resolution === undefined ? [] : yield* wait(backend.read(rangesOfAsking(confirmation)));
        const calls = (states.flat() as Entry<CallEntry>[]).map(({ value }) => value);
        if (resolution === undefined || isListedIfResolved(confirmation, calls)) pending.push(entry);
      }
      return inOrder(pending);
    });
  }

  /** Returns the confirmations about a call, in the order in which they were asked. */
  confirmationsOf({
    sessionId,
    turnId,
    messageId = "",
    callId,
  }: CallKey): MaybePromise<readonly ConfirmationRecord[]> {
    const { backend } = this.operations;
    return this.operations.readMore(function* () {
      const [asked = []] = yield* wait(
        backend.read([{ below: ["asked", sessionId, turnId, messageId, callId] }]),
      );
      const ids = inOrder(asked) as readonly string[];
      const found = yield* wait(backend.read(ids.map((id): Range => ({ key: ["confirmation", id] }))));
      return found.flatMap(([entry]) => (entry === undefined ? [] : [entry.value as ConfirmationRecord]));
    });
  }

  /**
   * Ends that people are asked about the calls of a call's tool, at a time in ms since the epoch: cancels what is open, and adds
   * nothing later. Returns the ids of what was asked.
   */
  endAsking(
    { sessionId, turnId, messageId = "", callId }: CallKey,
    at: number,
  ): MaybePromise<readonly string[]> {
    return this.operations.write(function* (transaction) {
      const key = keyOfCall({ sessionId, turnId, messageId, callId });
      const [[message] = [], [found] = [], asked = []] = yield* transaction.entries<unknown>(
        { key: ["message", sessionId, turnId, messageId] },
        { key },
        { below: ["asked", sessionId, turnId, messageId] },
      );
      const state =
        (found?.value as CallEntry | undefined) ?? (message && stateOfNamed(message.value, callId));
      if (message !== undefined && state !== undefined)
        transaction.put(key, { ...state, asksNobody: true } satisfies CallEntry);
      const below: string[] = [];
      for (const { value } of asked) {
        const id = value as string;
        const record = yield* transaction.get<ConfirmationRecord>(["confirmation", id]);
        if (record?.confirmation.callId.startsWith(`${callId}/`) !== true) continue;
        below.push(id);
        yield* resolveConfirmation(transaction, id, { decision: "cancelled", at });
      }
      return below;
    });
  }

  addApproval(approval: Approval): MaybePromise<boolean> {
    const { id, sessionId } = approval;
    return this.operations.write(function* (transaction) {
      if ((yield* transaction.get(["approval", id])) !== undefined) return true;
      if ((yield* transaction.get(["removed", id])) !== undefined) return false;
      if (approval.for !== "workspace") {
        yield* requireSession(transaction, sessionId);
        transaction.put(["approvalOf", sessionId, id], id);
      }
      transaction.put(["approval", id], { approval, used: 0 } satisfies StoredApproval);
      return true;
    });
  }

  approvals(): MaybePromise<readonly StoredApproval[]> {
    return this.operations.read([{ below: ["approval"] }], (found = []) => inOrder<StoredApproval>(found));
  }

  useApproval(id: string): MaybePromise<boolean> {
    return this.operations.write(function* (transaction) {
      const stored = yield* transaction.get<StoredApproval>(["approval", id]);
      if (stored === undefined || stored.used >= (stored.approval.calls ?? Number.POSITIVE_INFINITY))
        return false;
      transaction.put(["approval", id], { ...stored, used: stored.used + 1 });
      return true;
    });
  }

  removeApproval(id: string): MaybePromise<boolean> {
    return this.operations.write(function* (transaction) {
      const stored = yield* transaction.get<StoredApproval>(["approval", id]);
      if (stored === undefined) return false;
      const { sessionId } = stored.approval;
      transaction.remove(["approval", id]);
      transaction.remove(["approvalOf", sessionId, id]);
      // A call that was not claimed yet when its process died adds it again.
      if ((yield* transaction.get(["session", sessionId])) === undefined) return true;
      transaction.put(["removed", id], sessionId);
      transaction.put(["removedOf", sessionId, id], id);
      return true;
    });
  }

  close(): MaybePromise<void> {
    return this.operations.backend.close();
  }
}

/** Returns the state of a call; `undefined` if its message is not known. */
function* stateOf(transaction: Transaction, identity: CallIdentity): Operation<CallEntry | undefined> {
  const { sessionId, turnId, messageId } = identity;
  const key: Key = ["message", sessionId, turnId, messageId];
  const [[message] = [], [state] = []] = yield* transaction.entries({ key }, { key: keyOfCall(identity) });
  if (message === undefined) return undefined;
  return (state?.value as CallEntry | undefined) ?? firstState(identity);
}

/** Returns the first state of a call that a message has. Other calls, which tools make, make no calls without a state. */
function stateOfNamed(message: unknown, callId: string): CallEntry | undefined {
  const { sessionId: id, turnId, messageId, calls } = message as MessageRecord;
  const call = calls.find((each) => each.id === callId);
  if (call === undefined) return undefined;
  return firstState(identityOf({ session: { id, principal: undefined }, turnId, messageId }, call));
}

function* requireSession(transaction: Transaction, id: string): Operation<void> {
  const session = yield* transaction.get(["session", id]);
  if (session === undefined) throw new SessionStoreError("the session is not in the store");
}
