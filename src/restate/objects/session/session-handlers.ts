import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { MessageRecord, SessionRecord } from "../../../sessions/store/store.ts";
import type { RestateSdk } from "../../connection/worker.ts";
import {
  callObject,
  type ObjectHandlers,
  readPrefix,
  readValues,
  TOO_MANY,
  wholeReader,
} from "../handlers.ts";
import {
  approvalsObject,
  confirmationObject,
  indexObject,
  principalObject,
  type StorePlace,
} from "../object-keys.ts";
import {
  CALLS_PREFIX,
  type ConfirmationEntry,
  hasEnded,
  messageKey,
  SESSION_KEY,
  type StoredCallState,
  type StoredCalls,
  type StoredSession,
  type StoredTurn,
  TURN_PREFIX,
} from "./session-state.ts";

/** What waits in a session: for its calls to end, or for a person. */
export interface WaitingInSession {
  readonly messages: readonly { readonly place: number; readonly message: MessageRecord }[];
  readonly inquiries: readonly WaitingConfirmation[];
}

export interface WaitingConfirmation {
  readonly id: string;
  readonly place: number;
  /** Whether its call is such that it waits even if it is resolved. */
  readonly isListedIfResolved: boolean;
}

/** The handlers of a session as a whole. */
export function sessionHandlers(sdk: RestateSdk): ObjectHandlers {
  const { exclusive } = sdk.handlers.object;
  return {
    /** Returns `false` if the session is known. Fails with {@link TOO_MANY} if its principal has too many. */
    add: async (
      ctx: ObjectContext,
      { store, record, place }: { store: StorePlace; record: SessionRecord; place: number },
    ): Promise<boolean> => {
      if ((await ctx.get(SESSION_KEY)) !== null) return false;
      const principal = principalObject(store, record.principal?.id);
      if (!(await callObject<boolean>(sdk, ctx, principal, "add", record.id))) {
        throw new sdk.TerminalError("the principal has too many open sessions", { errorCode: TOO_MANY });
      }
      ctx.set<StoredSession>(SESSION_KEY, { record, place });
      await callObject(sdk, ctx, indexObject(store, record.id), "put", { record, place });
      return true;
    },

    setMode: async (
      ctx: ObjectContext,
      { store, mode }: { store: StorePlace; mode: string },
    ): Promise<void> => {
      const session = await ctx.get<StoredSession>(SESSION_KEY);
      if (session === null || session.record.mode === mode) return;
      const changed: StoredSession = { ...session, record: { ...session.record, mode } };
      ctx.set(SESSION_KEY, changed);
      await callObject(sdk, ctx, indexObject(store, changed.record.id), "put", changed);
    },

    remove: exclusive(
      { enableLazyState: false },
      async (ctx: ObjectContext, { store }: { store: StorePlace }): Promise<void> => {
        const session = await ctx.get<StoredSession>(SESSION_KEY);
        if (session === null) return;
        const { id, principal } = session.record;
        const { turns } = await readAll(sdk, ctx);
        await sdk.RestatePromise.all([
          callObject(sdk, ctx, indexObject(store, id), "remove", id),
          callObject(sdk, ctx, principalObject(store, principal?.id), "remove", id),
          callObject(sdk, ctx, approvalsObject(store), "removeSession", id),
          ...turns
            .flatMap(({ inquiries: confirmations }) => confirmations)
            .map((confirmation) =>
              callObject(sdk, ctx, confirmationObject(store, confirmation.id), "remove"),
            ),
        ]);
        ctx.clearAll();
      },
    ),

    waiting: wholeReader(sdk, async (ctx: ObjectSharedContext): Promise<WaitingInSession> => {
      const { turns, calls } = await readAll(sdk, ctx);
      const unfinished = calls.filter((message) => !hasEnded(message));
      const keys = unfinished.map(({ turnId, messageId }) => messageKey(turnId, messageId));
      const records = await readValues<MessageRecord[]>(sdk, ctx, keys);
      const messages = unfinished.flatMap(({ place }, index) => {
        const message = records[index] ?? undefined;
        return message === undefined ? [] : [{ place, message }];
      });
      const confirmations = turns.flatMap((turn) =>
        turn.inquiries.map((confirmation): WaitingConfirmation => {
          const message = calls.find(
            ({ turnId, messageId }) => turnId === turn.turnId && messageId === confirmation.messageId,
          );
          const { id, place } = confirmation;
          return { id, place, isListedIfResolved: isListed(confirmation, message) };
        }),
      );
      return { messages, inquiries: confirmations };
    }),
  };
}

async function readAll(
  sdk: RestateSdk,
  ctx: ObjectSharedContext,
): Promise<{ readonly turns: readonly StoredTurn[]; readonly calls: readonly StoredCalls[] }> {
  return {
    turns: await readPrefix<StoredTurn>(sdk, ctx, TURN_PREFIX),
    calls: await readPrefix<StoredCalls>(sdk, ctx, CALLS_PREFIX),
  };
}

function isListed({ callId, parent }: ConfirmationEntry, message: StoredCalls | undefined): boolean {
  if (parent === undefined) {
    const call = message && stateOf(message, callId);
    return call?.isClaimed !== true && call?.isEnded !== true;
  }
  return (message?.callIds ?? []).some((id) => {
    const caller = message && stateOf(message, id);
    return caller?.isClaimed === true && caller.isEnded !== true && callId.startsWith(`${id}/`);
  });
}

function stateOf({ states }: StoredCalls, callId: string): StoredCallState | undefined {
  return states.find((state) => state.callId === callId);
}
