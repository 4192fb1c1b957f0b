import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import {
  MAX_FORGOTTEN_TURNS,
  type MessageRecord,
  type SessionRecord,
} from "../../../sessions/store/store.ts";
import type { RestateSdk } from "../../connection/worker.ts";
import { callObject, type ObjectHandlers, reader, readPrefix, readValues, refusal } from "../handlers.ts";
import { confirmationObject, type StorePlace } from "../object-keys.ts";
import {
  callsKey,
  executionKey,
  FORGOTTEN_COUNT_KEY,
  forgottenKey,
  forgottenPlaceKey,
  HEAD_KEY,
  messageKey,
  newTurn,
  nextPlace,
  SESSION_KEY,
  type StoredCalls,
  type StoredHead,
  type StoredSession,
  type StoredTurn,
  TURN_PREFIX,
  turnKey,
} from "./session-state.ts";

/** A message that was known before or is refused, or what it was added to. */
export type AddedMessage =
  | { readonly known: MessageRecord | "forgotten" }
  | {
      readonly known?: undefined;
      readonly session: SessionRecord;
      /** The head of the session with this message, for the caller to set. */
      readonly head: StoredHead;
    };

/** A message that is to be stored. */
export interface NewMessage {
  readonly message: MessageRecord;
  readonly place: number;
  /** Whether it is refused if its turn was forgotten. Default: `false`. */
  readonly refusesForgotten?: boolean | undefined;
}

/** The handlers of the turns of a session, and of their messages. */
export function messageHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** Returns the message that is known by this id; nothing if it is new. */
    addMessage: async (
      ctx: ObjectContext,
      { message, place: given }: { message: MessageRecord; place: number },
    ): Promise<MessageRecord | "forgotten" | undefined> => {
      const stored = await storeMessage(sdk, ctx, { message, place: given });
      if (stored.known === undefined) ctx.set<StoredHead>(HEAD_KEY, stored.head);
      return stored.known;
    },

    messages: reader(
      sdk,
      async (ctx: ObjectSharedContext, turnId: string): Promise<readonly MessageRecord[]> => {
        const { messageIds = [] } = (await ctx.get<StoredTurn>(turnKey(turnId))) ?? {};
        const messages = await readValues<MessageRecord[]>(
          ...([sdk, ctx, messageIds.map((id) => messageKey(turnId, id))] as const),
        );
        return messages.filter((message) => message !== null);
      },
    ),

    turnIds: reader(sdk, async (ctx: ObjectSharedContext): Promise<readonly string[]> => {
      const turns = await readPrefix<StoredTurn>(sdk, ctx, TURN_PREFIX);
      return turns
        .filter(({ messageIds }) => messageIds.length > 0)
        .sort((one, other) => one.place - other.place)
        .map(({ turnId }) => turnId);
    }),

    removeTurn: async (
      ctx: ObjectContext,
      { store, turnId }: { store: StorePlace; turnId: string },
    ): Promise<void> => {
      const turn = await ctx.get<StoredTurn>(turnKey(turnId));
      if (turn === null) return;
      const calls = await readValues<StoredCalls[]>(
        ...([sdk, ctx, turn.messageIds.map((messageId) => callsKey(turnId, messageId))] as const),
      );
      if (turn.inquiries.length > 0) {
        await sdk.RestatePromise.all(
          turn.inquiries.map(({ id }) => callObject(sdk, ctx, confirmationObject(store, id), "remove")),
        );
      }
      for (const [index, messageId] of turn.messageIds.entries()) {
        for (const { callId, isEnded } of calls[index]?.states ?? []) {
          if (isEnded === true) ctx.clear(executionKey(turnId, messageId, callId));
        }
        ctx.clear(messageKey(turnId, messageId));
        ctx.clear(callsKey(turnId, messageId));
      }
      ctx.clear(turnKey(turnId));
      if (turn.messageIds.length > 0) await forget(ctx, turnId);
    },

    isForgotten: reader(
      sdk,
      async (ctx: ObjectSharedContext, turnId: string): Promise<boolean> =>
        (await ctx.get(forgottenKey(turnId))) !== null,
    ),
  };
}

/**
 * Stores a message of a session, unless its turn has one with this id. Each value of an object that a handler reads costs
 * two records of Restate's log, and each that it sets costs one.
 */
export async function storeMessage(
  sdk: RestateSdk,
  ctx: ObjectContext,
  { message, place: given, refusesForgotten = false }: NewMessage,
): Promise<AddedMessage> {
  const { turnId, messageId } = message;
  const keys = [SESSION_KEY, HEAD_KEY, turnKey(turnId)];
  const [session, head, turn] = await readValues<[StoredSession, StoredHead, StoredTurn]>(sdk, ctx, keys);
  if (session === null) throw refusal(sdk, "the session is not in the store");
  if (turn?.messageIds.includes(messageId)) {
    const known = await ctx.get<MessageRecord>(messageKey(turnId, messageId));
    if (known !== null) return { known };
  }
  if (turn === null && refusesForgotten && (await ctx.get(forgottenKey(turnId))) !== null) {
    return { known: "forgotten" };
  }
  const place = nextPlace(given, head);
  const { messageIds, ...rest } = turn ?? newTurn(turnId, place);
  const callIds = message.calls.map(({ id }) => id);
  ctx.set<StoredCalls>(callsKey(turnId, messageId), { place, turnId, messageId, callIds, states: [] });
  ctx.set(messageKey(turnId, messageId), message);
  ctx.set<StoredTurn>(turnKey(turnId), { ...rest, messageIds: [...messageIds, messageId] });
  return { session: session.record, head: { ...head, place } };
}

/** Remembers that a turn existed, in place of the oldest such turn. */
async function forget(ctx: ObjectContext, turnId: string): Promise<void> {
  const number = (await ctx.get<number>(FORGOTTEN_COUNT_KEY)) ?? 0;
  const placeKey = forgottenPlaceKey(number, MAX_FORGOTTEN_TURNS);
  const oldest = await ctx.get<string>(placeKey);
  if (oldest !== null) {
    const itsNumber = await ctx.get<number>(forgottenKey(oldest));
    // It may have existed again since, and been removed again later.
    if (itsNumber === number - MAX_FORGOTTEN_TURNS) ctx.clear(forgottenKey(oldest));
  }
  ctx.set(FORGOTTEN_COUNT_KEY, number + 1);
  ctx.set(placeKey, turnId);
  ctx.set(forgottenKey(turnId), number);
}
