import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { MAX_FORGOTTEN_TURNS } from "../../../sessions/store/forgotten-turns.ts";
import type { MessageRecord } from "../../../sessions/store/records.ts";
import type { RestateSdk } from "../../connection/sdk.ts";
import { callObject } from "../call-object.ts";
import type { ObjectHandlers } from "../object-handlers.ts";
import { inquiryObject, type StorePlace } from "../object-keys.ts";
import { readPrefix, readValues } from "../read-values.ts";
import { reader } from "../readers.ts";
import { keepMessage } from "./keep-message.ts";
import {
  callsKey,
  executionKey,
  FORGOTTEN_COUNT_KEY,
  forgottenKey,
  forgottenPlaceKey,
  HEAD_KEY,
  type KeptCalls,
  type KeptHead,
  type KeptTurn,
  messageKey,
  TURN_PREFIX,
  turnKey,
} from "./session-state.ts";

/** The handlers of the turns of a session, and of their messages. */
export function messageHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** Returns the message that is known by this id; nothing if it is new. */
    addMessage: async (
      ctx: ObjectContext,
      { message, place: given }: { message: MessageRecord; place: number },
    ): Promise<MessageRecord | "forgotten" | undefined> => {
      const kept = await keepMessage(sdk, ctx, { message, place: given });
      if (kept.known === undefined) ctx.set<KeptHead>(HEAD_KEY, kept.head);
      return kept.known;
    },

    messages: reader(
      sdk,
      async (ctx: ObjectSharedContext, turnId: string): Promise<readonly MessageRecord[]> => {
        const { messageIds = [] } = (await ctx.get<KeptTurn>(turnKey(turnId))) ?? {};
        const messages = await readValues<MessageRecord[]>(
          ...([sdk, ctx, messageIds.map((id) => messageKey(turnId, id))] as const),
        );
        return messages.filter((message) => message !== null);
      },
    ),

    turnIds: reader(sdk, async (ctx: ObjectSharedContext): Promise<readonly string[]> => {
      const turns = await readPrefix<KeptTurn>(sdk, ctx, TURN_PREFIX);
      return turns
        .filter(({ messageIds }) => messageIds.length > 0)
        .sort((one, other) => one.place - other.place)
        .map(({ turnId }) => turnId);
    }),

    removeTurn: async (
      ctx: ObjectContext,
      { store, turnId }: { store: StorePlace; turnId: string },
    ): Promise<void> => {
      const turn = await ctx.get<KeptTurn>(turnKey(turnId));
      if (turn === null) return;
      const calls = await readValues<KeptCalls[]>(
        ...([sdk, ctx, turn.messageIds.map((messageId) => callsKey(turnId, messageId))] as const),
      );
      if (turn.inquiries.length > 0) {
        await sdk.RestatePromise.all(
          turn.inquiries.map(({ id }) => callObject(sdk, ctx, inquiryObject(store, id), "remove")),
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

/** Remembers that a turn was there. Its number takes the place of the one that is too old by now. */
async function forget(ctx: ObjectContext, turnId: string): Promise<void> {
  const number = (await ctx.get<number>(FORGOTTEN_COUNT_KEY)) ?? 0;
  const placeKey = forgottenPlaceKey(number, MAX_FORGOTTEN_TURNS);
  const oldest = await ctx.get<string>(placeKey);
  if (oldest !== null) {
    const itsNumber = await ctx.get<number>(forgottenKey(oldest));
    // It may have been there again, and been removed again later.
    if (itsNumber === number - MAX_FORGOTTEN_TURNS) ctx.clear(forgottenKey(oldest));
  }
  ctx.set(FORGOTTEN_COUNT_KEY, number + 1);
  ctx.set(placeKey, turnId);
  ctx.set(forgottenKey(turnId), number);
}
