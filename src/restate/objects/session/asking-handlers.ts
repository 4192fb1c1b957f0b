import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Approval } from "../../../sessions/approvals/approval.ts";
import type { Inquiry } from "../../../sessions/confirmations/inquiry.ts";
import type { RestateSdk } from "../../connection/sdk.ts";
import { callObject, refusal } from "../call-object.ts";
import type { ObjectHandlers } from "../object-handlers.ts";
import { approvalsObject, inquiryObject, type StorePlace } from "../object-keys.ts";
import { readValues } from "../read-values.ts";
import { reader } from "../readers.ts";
import {
  HEAD_KEY,
  type KeptHead,
  type KeptSession,
  type KeptTurn,
  newTurn,
  nextPlace,
  SESSION_KEY,
  turnKey,
} from "./session-state.ts";

/** The handlers of what people are asked in a session, and what they approve. */
export function askingHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** Adds an inquiry. Its awakeable, if it has one, is resolved with its resolution. */
    addInquiry: async (
      ctx: ObjectContext,
      {
        store,
        inquiry,
        place: given,
        awakeable,
      }: { store: StorePlace; inquiry: Inquiry; place: number; awakeable?: string },
    ): Promise<void> => {
      const { id, turnId, messageId, callId, parent } = inquiry;
      const keys = [SESSION_KEY, HEAD_KEY, turnKey(turnId)];
      const [session, head, turn] = await readValues<[KeptSession, KeptHead, KeptTurn]>(sdk, ctx, keys);
      const object = inquiryObject(store, id);
      // An answer would have the call begin, in a process that does not know of it.
      if (turn?.isCancelled === true && awakeable !== undefined) throw refusal(sdk, "the turn was cancelled");
      if (session === null) {
        if ((await callObject(sdk, ctx, object, "read")) !== undefined) return;
        throw refusal(sdk, "the session is not in the store");
      }
      const isNew = await callObject<boolean>(sdk, ctx, object, "add", { inquiry, awakeable });
      if (!isNew) return;
      const place = nextPlace(given, head);
      const { inquiries, ...rest } = turn ?? newTurn(turnId, place);
      ctx.set<KeptHead>(HEAD_KEY, { ...head, place });
      ctx.set<KeptTurn>(turnKey(turnId), {
        ...rest,
        inquiries: [
          ...inquiries,
          {
            ...{ id, callId, place },
            ...(messageId !== undefined && { messageId }),
            ...(parent !== undefined && { parent }),
          },
        ],
      });
    },

    /** Returns the ids of the inquiries about a call, in the order in which they were asked. */
    inquiriesOf: reader(
      sdk,
      async (
        ctx: ObjectSharedContext,
        { turnId, messageId, callId }: { turnId: string; messageId?: string; callId: string },
      ): Promise<readonly string[]> => {
        const { inquiries = [] } = (await ctx.get<KeptTurn>(turnKey(turnId))) ?? {};
        return inquiries
          .filter((each) => each.callId === callId && each.messageId === messageId)
          .map(({ id }) => id);
      },
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
