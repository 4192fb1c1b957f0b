import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Approval } from "../../../sessions/approvals.ts";
import {
  type CallKey,
  type Confirmation,
  confirmationInForce,
} from "../../../sessions/confirmations/confirmation.ts";
import type { RestateSdk } from "../../connection/worker.ts";
import { callObject, type ObjectHandlers, reader, readValues, refusal } from "../handlers.ts";
import { approvalsObject, confirmationObject, type StorePlace } from "../object-keys.ts";
import {
  callsKey,
  HEAD_KEY,
  newTurn,
  nextPlace,
  recordOf,
  SESSION_KEY,
  type StoredCalls,
  type StoredHead,
  type StoredRecord,
  type StoredSession,
  type StoredTurn,
  storedRecord,
  turnKey,
} from "./session-state.ts";

/** The handlers of a session's confirmations and approvals. */
export function sessionConfirmationHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /**
     * Adds a confirmation, unless an earlier one of the same call is in force. Returns the one in force; nothing if a call
     * above the nested one has ended.
     *
     * @param input Has the awakeable that is resolved with the resolution, if an invocation asks: no other one asks the same.
     */
    addInquiry: async (
      ctx: ObjectContext,
      {
        store,
        inquiry: confirmation,
        place: given,
        awakeable,
      }: { store: StorePlace; inquiry: Confirmation; place: number; awakeable?: string },
    ): Promise<StoredRecord | undefined> => {
      const { id, turnId, messageId, callId, parent } = confirmation;
      const keys = [SESSION_KEY, HEAD_KEY, turnKey(turnId)];
      const [session, head, turn] = await readValues<[StoredSession, StoredHead, StoredTurn]>(sdk, ctx, keys);
      const object = confirmationObject(store, id);
      // An answer would begin the call, in a process that does not know that it was cancelled.
      if (turn?.isCancelled === true && awakeable !== undefined) throw refusal(sdk, "the turn was cancelled");
      if (session === null) {
        const known = await callObject<StoredRecord | undefined>(sdk, ctx, object, "read");
        if (known !== undefined) return known;
        throw refusal(sdk, "the session is not in the store");
      }
      if (awakeable === undefined) {
        if (parent !== undefined && (await isCallerEnded(ctx, confirmation))) return undefined;
        const ids = idsAbout(turn, confirmation);
        const records = await sdk.RestatePromise.all(
          ids.map((each) => callObject<StoredRecord>(sdk, ctx, confirmationObject(store, each), "read")),
        );
        const known = records.find((each) => each.inquiry.id === id);
        if (known !== undefined) return known;
        const standing = confirmationInForce(records.map(recordOf), confirmation);
        if (standing !== undefined) return storedRecord(standing);
      }
      const isNew = await callObject<boolean>(sdk, ctx, object, "add", { inquiry: confirmation, awakeable });
      if (!isNew) return { inquiry: confirmation };
      const place = nextPlace(given, head);
      const { inquiries: confirmations, ...rest } = turn ?? newTurn(turnId, place);
      ctx.set<StoredHead>(HEAD_KEY, { ...head, place });
      ctx.set<StoredTurn>(turnKey(turnId), {
        ...rest,
        inquiries: [
          ...confirmations,
          {
            id,
            callId,
            place,
            ...(messageId !== undefined && { messageId }),
            ...(parent !== undefined && { parent }),
          },
        ],
      });
      return { inquiry: confirmation };
    },

    /**
     * Ends that people are asked about the calls of a call's tool: cancels what is open, and lets nothing be added. Returns the
     * ids of what was asked.
     */
    endAsking: async (
      ctx: ObjectContext,
      { store, call, at }: { store: StorePlace; call: Omit<CallKey, "sessionId">; at: number },
    ): Promise<readonly string[]> => {
      const { turnId, messageId = "", callId } = call;
      const keys = [callsKey(turnId, messageId), turnKey(turnId)];
      const [calls, turn] = await readValues<[StoredCalls, StoredTurn]>(sdk, ctx, keys);
      if (calls !== null) {
        const state = calls.states.find((each) => each.callId === callId) ?? { callId, digest: "" };
        const otherStates = calls.states.filter((each) => each !== state);
        ctx.set<StoredCalls>(callsKey(turnId, messageId), {
          ...calls,
          states: [...otherStates, { ...state, asksNobody: true }],
        });
      }
      const below = (turn?.inquiries ?? []).filter(
        (each) => each.messageId === call.messageId && each.callId.startsWith(`${callId}/`),
      );
      const resolution = { decision: "cancelled", at };
      for (const { id } of below)
        await callObject(sdk, ctx, confirmationObject(store, id), "resolve", resolution);
      return below.map(({ id }) => id);
    },

    /** Returns the ids of the confirmations about a call, in the order in which they were asked. */
    inquiriesOf: reader(
      sdk,
      async (
        ctx: ObjectSharedContext,
        call: { turnId: string; messageId?: string; callId: string },
      ): Promise<readonly string[]> => idsAbout(await ctx.get<StoredTurn>(turnKey(call.turnId)), call),
    ),

    /** Adds an approval for this session. */
    addApproval: async (
      ctx: ObjectContext,
      { store, approval, place }: { store: StorePlace; approval: Approval; place: number },
    ): Promise<boolean> => {
      const object = approvalsObject(store);
      if ((await ctx.get(SESSION_KEY)) === null) {
        if (await callObject<boolean>(sdk, ctx, object, "has", approval.id)) return true;
        throw refusal(sdk, "the session is not in the store");
      }
      return callObject<boolean>(sdk, ctx, object, "add", { approval, place });
    },
  };
}

function idsAbout(
  turn: StoredTurn | null,
  { messageId, callId }: Pick<Confirmation, "messageId" | "callId">,
): string[] {
  return (turn?.inquiries ?? [])
    .filter((each) => each.callId === callId && each.messageId === messageId)
    .map(({ id }) => id);
}

async function isCallerEnded(
  ctx: ObjectSharedContext,
  { turnId, messageId = "", callId }: Confirmation,
): Promise<boolean> {
  const calls = await ctx.get<StoredCalls>(callsKey(turnId, messageId));
  return (calls?.states ?? []).some(
    (state) => (state.asksNobody === true || state.isEnded === true) && callId.startsWith(`${state.callId}/`),
  );
}
