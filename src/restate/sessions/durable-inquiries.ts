import type { Context } from "@restatedev/restate-sdk";
import type { Inquiry, NewInquiry, Resolution } from "../../sessions/confirmations/inquiry.ts";
import { newId } from "../../sessions/ids.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { callObject, REFUSED } from "../objects/call-object.ts";
import { inquiryObject, type StorePlace, sessionObject } from "../objects/object-keys.ts";
import { listed, openInquiriesObject } from "./open-inquiry-handlers.ts";

/** Where a durable call asks people. */
export interface InquiryPlace {
  readonly sdk: RestateSdk;
  readonly store: StorePlace;
  /** The longest time for which an inquiry is open, in ms. */
  readonly timeoutMs: number;
  /** The time as Restate has it, in ms since the epoch. */
  readonly now: () => number;
}

/** Opens an inquiry whose resolution completes an awakeable. Returns `undefined` if too many are open. */
export async function openInquiry(
  { sdk, store, timeoutMs: longest, now: clock }: InquiryPlace,
  ctx: Context,
  question: NewInquiry,
  { timeoutMs, awakeable }: { readonly timeoutMs: number; readonly awakeable: string },
): Promise<Inquiry | undefined> {
  const { id, askedAt } = await ctx.run("inquiry", () => {
    const now = clock();
    return { id: newId(now), askedAt: now };
  });
  const inquiry: Inquiry = {
    ...question,
    id,
    askedAt,
    expiresAt: askedAt + Math.min(timeoutMs, longest),
  };
  const session = sessionObject(store, inquiry.sessionId);
  // First, so that no inquiry is open that is not listed.
  if (!(await callObject<boolean>(sdk, ctx, openInquiriesObject(store), "put", listed(inquiry))))
    return undefined;
  try {
    await callObject(sdk, ctx, session, "addInquiry", { store, inquiry, place: askedAt * 1_000, awakeable });
  } catch (error) {
    if (!(error instanceof sdk.TerminalError && error.code === REFUSED)) throw error;
    // The session was closed meanwhile, or the turn cancelled.
    ctx.resolveAwakeable(awakeable, { decision: "cancelled", at: askedAt } satisfies Resolution);
  }
  return inquiry;
}

/** Takes an inquiry that was resolved off the list, unless the answer did. */
export async function unlistInquiry(
  { sdk, store }: InquiryPlace,
  ctx: Context,
  { id }: Inquiry,
): Promise<void> {
  await callObject(sdk, ctx, openInquiriesObject(store), "remove", [id]);
}

/** Ends an inquiry that was not answered in time. Returns the resolution that was first. */
export async function expireInquiry(
  { sdk, store }: InquiryPlace,
  ctx: Context,
  { id, expiresAt }: Inquiry,
): Promise<Resolution> {
  const timeout: Resolution = { decision: "timeout", at: expiresAt };
  const first = await callObject<Resolution | undefined>(
    sdk,
    ctx,
    inquiryObject(store, id),
    "resolve",
    timeout,
  );
  await callObject(sdk, ctx, openInquiriesObject(store), "remove", [id]);
  return first ?? timeout;
}
