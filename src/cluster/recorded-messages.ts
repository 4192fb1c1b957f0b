import type { MaybePromise } from "../base/promises.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import { receiveCall } from "../engine/call.ts";
import type { Entry, Key } from "../record/backend.ts";
import { type CallIdentity, identityOf, type MessageAddress } from "../record/identity.ts";
import type { Operation, Operations, Transaction } from "../record/operations.ts";
import { withdrawnExecution } from "../sessions/calls/ended-calls.ts";
import {
  isFull,
  type ListedConfirmation,
  type ListOfOpen,
} from "../sessions/confirmations/shared-confirmations.ts";
import type { DurableCall, DurableMessage } from "../sessions/durable-runtime.ts";
import {
  addMessage,
  type CallEntry,
  type ClaimOptions,
  claimCall,
  endCall,
  firstState,
  keyOfCall,
  resolveConfirmation,
} from "../sessions/store/recorded-operations.ts";
import type { MessageRecord } from "../sessions/store/store.ts";

/** A message that has not ended, as it is stored under `unfinished/SESSION/TURN/MESSAGE`. */
export interface RunningMessage extends MessageAddress {
  /** The process that runs it, as the backend calls it. */
  readonly owner: string;
  /** The message of its session that it waits for; absent if none was under way. */
  readonly after?: MessageAddress;
  readonly extras: Pick<DurableMessage, "unattended" | "trace">;
}

/** What a process may do with a call that it is about to run. */
export type Beginning = "begins" | "cancelled" | "lost" | "begun";

/** The operations of several servers on the messages of a session store, each of which one server owns. */
export class RecordedMessages {
  readonly #operations: Operations;
  readonly #member: string;

  /** @param member Identifies this process: see `SharedBackend`. */
  constructor(operations: Operations, member: string) {
    this.#operations = operations;
    this.#member = member;
  }

  /** Stores a message, which this process then owns: see `DurableRuntime.accept`. */
  accept(message: DurableMessage): MaybePromise<MessageRecord | "forgotten" | RunningMessage> {
    const { unattended, trace, isAlone, refusesForgotten, ...record } = message;
    const { sessionId, turnId, messageId } = record;
    const owner = this.#member;
    return this.#operations.writeInOrder(sessionId, function* (transaction): Operation<
      MessageRecord | "forgotten" | RunningMessage
    > {
      const known = yield* addMessage(transaction, {
        message: record,
        ...(refusesForgotten && { refusesForgotten }),
      });
      if (known !== undefined) return known;
      const lastKey: Key = ["last", sessionId, "message"];
      const last = isAlone ? undefined : yield* transaction.get<MessageAddress>(lastKey);
      const before = last && (yield* transaction.get(runningKey(last)));
      const running: RunningMessage = {
        sessionId,
        turnId,
        messageId,
        owner,
        extras: { ...(unattended && { unattended }), ...(trace !== undefined && { trace }) },
        ...(last !== undefined && before !== undefined && { after: last }),
      };
      transaction.put(runningKey(running), running);
      if (!isAlone) transaction.put(lastKey, { sessionId, turnId, messageId } satisfies MessageAddress);
      return running;
    });
  }

  /** Returns all messages that have not ended. */
  unfinished(): MaybePromise<readonly RunningMessage[]> {
    return this.#operations.read([{ below: ["unfinished"] }], (found = []) =>
      found.map(({ value }: Entry<RunningMessage>) => value),
    );
  }

  /** Whether a message has not ended. */
  isUnderWay(message: MessageAddress): MaybePromise<boolean> {
    return this.#operations.read([{ key: runningKey(message) }], ([found] = []) => found !== undefined);
  }

  /** Makes this process the owner of a message. Returns `undefined` if it has ended, or another one was faster. */
  takeOver(message: RunningMessage): MaybePromise<RunningMessage | undefined> {
    const owner = this.#member;
    return this.#operations.write(function* (transaction) {
      const known = yield* transaction.get<RunningMessage>(runningKey(message));
      if (known === undefined || known.owner !== message.owner) return undefined;
      const taken: RunningMessage = { ...known, owner };
      transaction.put(runningKey(message), taken);
      return taken;
    });
  }

  /** Whether this process still owns a message. */
  isOwned(message: MessageAddress): MaybePromise<boolean> {
    const member = this.#member;
    return this.#operations.read(
      [{ key: runningKey(message) }],
      ([found] = []) => (found?.value as RunningMessage | undefined)?.owner === member,
    );
  }

  /** Returns a message and the states of its calls; `undefined` if it was removed. */
  read({
    sessionId,
    turnId,
    messageId,
  }: MessageAddress): MaybePromise<
    { readonly message: MessageRecord; readonly states: ReadonlyMap<string, CallEntry> } | undefined
  > {
    return this.#operations.read(
      [{ key: ["message", sessionId, turnId, messageId] }, { below: ["call", sessionId, turnId, messageId] }],
      ([message] = [], states = []) =>
        message && {
          message: message.value as MessageRecord,
          states: new Map(states.map(({ value }: Entry<CallEntry>) => [value.callId, value])),
        },
    );
  }

  /**
   * Records that this process begins a call.
   *
   * @param options.mayRepeat Whether it may have been begun by a process that was lost, and is run again.
   */
  begin(call: DurableCall, options: Required<ClaimOptions>): MaybePromise<Beginning> {
    const member = this.#member;
    return this.#operations.write(function* (transaction): Operation<Beginning> {
      const read = yield* readCall(transaction, call);
      if (read.running?.owner !== member) return "lost";
      if (read.isCancelled) return "cancelled";
      // The message has one call with this id.
      const { digest } = read.state;
      const claim = claimCall(transaction, read.state, { ...read.identity, digest }, options);
      return claim === "fresh" ? "begins" : "begun";
    });
  }

  /** Records the end of a call, unless another process owns its message now. Returns whether this one does. */
  end(call: DurableCall, execution: ToolExecution | null): MaybePromise<boolean> {
    const member = this.#member;
    return this.#operations.write(function* (transaction) {
      const { running, state, identity } = yield* readCall(transaction, call);
      if (running?.owner !== member) return false;
      // What a hook aborted has no execution. Without one, the call would never be known to have ended.
      endCall(transaction, state, identity, execution ?? withdrawnExecution(receiveCall(call.call)));
      return true;
    });
  }

  /** Records that all calls of a message have ended, unless another process owns it now. */
  finish(message: MessageAddress): MaybePromise<void> {
    const member = this.#member;
    return this.#operations.write(function* (transaction) {
      const known = yield* transaction.get<RunningMessage>(runningKey(message));
      if (known?.owner === member) transaction.remove(runningKey(message));
    });
  }

  /** Records that the calls of a turn are cancelled, at a time in ms since the epoch. */
  cancelTurn(sessionId: string, turnId: string, at: number): MaybePromise<void> {
    return this.#operations.write(function* (transaction) {
      const [[session] = [], asked = []] = yield* transaction.entries<unknown>(
        { key: ["session", sessionId] },
        { below: ["asked", sessionId, turnId] },
      );
      if (session === undefined) return;
      transaction.put(["cancelled", sessionId, turnId], true);
      for (const { value } of asked)
        yield* resolveConfirmation(transaction, value as string, { decision: "cancelled", at });
    });
  }

  /** Returns those of some turns that are cancelled, or whose session was closed. */
  cancelled(
    turns: readonly Pick<MessageAddress, "sessionId" | "turnId">[],
  ): MaybePromise<readonly boolean[]> {
    const ranges = turns.flatMap(({ sessionId, turnId }) => [
      { key: ["session", sessionId] as const },
      { key: ["cancelled", sessionId, turnId] as const },
    ]);
    return this.#operations.read(ranges, (...found) =>
      turns.map((_, index) => found[2 * index]?.length === 0 || found[2 * index + 1]?.length === 1),
    );
  }
}

function* readCall(
  transaction: Transaction,
  call: DurableCall,
): Operation<{
  running: RunningMessage | undefined;
  isCancelled: boolean;
  state: CallEntry;
  identity: CallIdentity;
}> {
  const { sessionId, turnId, messageId } = call;
  const session = { id: sessionId, principal: undefined };
  const identity = identityOf({ session, turnId, messageId }, call.call);
  const [[running] = [], [cancelled] = [], [state] = []] = yield* transaction.entries<unknown>(
    { key: runningKey(call) },
    { key: ["cancelled", sessionId, turnId] },
    { key: keyOfCall(identity) },
  );
  return {
    running: running?.value as RunningMessage | undefined,
    isCancelled: cancelled !== undefined,
    state: (state?.value as CallEntry | undefined) ?? firstState(identity),
    identity,
  };
}

function runningKey({ sessionId, turnId, messageId }: MessageAddress): Key {
  return ["unfinished", sessionId, turnId, messageId];
}

/** Lists the open confirmations of all servers over a backend. */
export class RecordedListOfOpen implements ListOfOpen {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  put(confirmation: ListedConfirmation): MaybePromise<boolean> {
    return this.#operations.writeInOrder("open confirmations", function* (transaction) {
      const [open = []] = yield* transaction.entries<ListedConfirmation>({ below: ["open", "all"] });
      if (open.some(({ value }) => value.id === confirmation.id)) return true;
      if (
        isFull(
          open.map(({ value }) => value),
          confirmation,
        )
      )
        return false;
      transaction.put(["open", "all", confirmation.id], confirmation);
      return true;
    });
  }

  remove(ids: readonly string[]): MaybePromise<void> {
    return this.#operations.apply(
      ...ids.map((id) => ({ key: ["open", "all", id] as Key, remove: true as const })),
    );
  }

  list(): MaybePromise<readonly ListedConfirmation[]> {
    return this.#operations.read([{ below: ["open", "all"] }], (found = []) =>
      found.map(({ value }) => value),
    );
  }
}
