import type { ObjectContext } from "@restatedev/restate-sdk";
import type { MessageRecord, SessionRecord } from "../../../sessions/store/store.ts";
import type { RestateSdk } from "../../connection/sdk.ts";
import { refusal } from "../call-object.ts";
import { readValues } from "../read-values.ts";
import {
  callsKey,
  forgottenKey,
  HEAD_KEY,
  messageKey,
  newTurn,
  nextPlace,
  SESSION_KEY,
  type StoredCalls,
  type StoredHead,
  type StoredSession,
  type StoredTurn,
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

/**
 * Keeps a message of a session, unless its turn has one with this id. Each value of an object that a handler reads costs
 * two records of Restate's log, and each that it sets costs one.
 */
export async function keepMessage(
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
