import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Inquiry } from "../../sessions/confirmations/inquiry.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectHandlers } from "../objects/object-handlers.ts";
import type { ObjectAddress, StorePlace } from "../objects/object-keys.ts";

/** The name of the object that lists the inquiries of all sessions that are open. */
export const OPEN_INQUIRIES_OBJECT = "SandgateOpenInquiries";

/** What is listed of an inquiry. The rest is in an object of its own. */
export interface ListedInquiry
  extends Pick<
    Inquiry,
    "id" | "sessionId" | "turnId" | "messageId" | "callId" | "digest" | "principal" | "expiresAt"
  > {}

/** How many inquiries may be open: of one principal, and in all. */
const PER_PRINCIPAL = 32;
const TOTAL = 1_000;
const KEY = "open";

/** The one object of a store that lists open inquiries. */
export function openInquiriesObject({ prefix }: StorePlace): ObjectAddress {
  return { service: OPEN_INQUIRIES_OBJECT, key: `${prefix}all` };
}

/** The handlers of the list of open inquiries. */
export function openInquiryHandlers(sdk: RestateSdk): ObjectHandlers {
  const { shared } = sdk.handlers.object;
  const read = async (ctx: ObjectSharedContext): Promise<readonly ListedInquiry[]> =>
    (await ctx.get<readonly ListedInquiry[]>(KEY)) ?? [];
  return {
    /** Returns `false` if too many inquiries are open. */
    put: async (ctx: ObjectContext, inquiry: ListedInquiry): Promise<boolean> => {
      const open = await read(ctx);
      if (open.some(({ id }) => id === inquiry.id)) return true;
      const ofPrincipal = open.filter(({ principal }) => principal === inquiry.principal);
      if (open.length >= TOTAL || ofPrincipal.length >= PER_PRINCIPAL) return false;
      ctx.set(KEY, [...open, inquiry]);
      return true;
    },

    remove: async (ctx: ObjectContext, ids: readonly string[]): Promise<void> => {
      const open = await read(ctx);
      const left = open.filter(({ id }) => !ids.includes(id));
      if (left.length < open.length) ctx.set(KEY, left);
    },

    list: shared(read),
  };
}

/** Returns what is listed of an inquiry. */
export function listed({
  id,
  sessionId,
  turnId,
  messageId,
  callId,
  digest,
  principal,
  expiresAt,
}: Inquiry): ListedInquiry {
  return {
    id,
    sessionId,
    turnId,
    callId,
    digest,
    expiresAt,
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
  };
}
