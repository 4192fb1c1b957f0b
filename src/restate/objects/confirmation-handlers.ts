import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ConfirmationRecord, Inquiry, Resolution } from "../../sessions/confirmations/confirmation.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { type ObjectHandlers, reader, readValues } from "./handlers.ts";

/** An inquiry, and the ids of the awakeables that are resolved with its resolution. */
interface StoredConfirmation {
  readonly inquiry: Inquiry;
  readonly awakeables: readonly string[];
}

const INQUIRY_KEY = "inquiry";
const RESOLUTION_KEY = "resolution";

/** The handlers of an inquiry. */
export function confirmationHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /**
     * Returns `false` if the inquiry is known, which stays as it is. Its awakeable is resolved anyway. Sessions call
     * it, so that they know their inquiries.
     */
    add: async (
      ctx: ObjectContext,
      { inquiry, awakeable }: { inquiry: Inquiry; awakeable?: string },
    ): Promise<boolean> => {
      const [known, resolution] = await read(sdk, ctx);
      if (awakeable !== undefined && resolution !== null) ctx.resolveAwakeable(awakeable, resolution);
      const awakeables = [...(known?.awakeables ?? []), ...(awakeable === undefined ? [] : [awakeable])];
      if (known === null || resolution === null) {
        ctx.set<StoredConfirmation>(INQUIRY_KEY, { inquiry: known?.inquiry ?? inquiry, awakeables });
      }
      return known === null;
    },

    /** Returns the resolution that won, which is the first one; nothing if the inquiry is unknown. */
    resolve: async (ctx: ObjectContext, resolution: Resolution): Promise<Resolution | undefined> => {
      const [known, first] = await read(sdk, ctx);
      if (known === null || first !== null) return first ?? undefined;
      ctx.set(RESOLUTION_KEY, resolution);
      for (const awakeable of known.awakeables) ctx.resolveAwakeable(awakeable, resolution);
      return resolution;
    },

    read: reader(sdk, async (ctx: ObjectSharedContext): Promise<ConfirmationRecord | undefined> => {
      const [known, resolution] = await read(sdk, ctx);
      if (known === null) return undefined;
      return { inquiry: known.inquiry, ...(resolution !== null && { resolution }) };
    }),

    /** Removes the inquiry. What waits for its resolution goes on as if it was cancelled. */
    remove: async (ctx: ObjectContext): Promise<void> => {
      const [known, resolution] = await read(sdk, ctx);
      if (known !== null && resolution === null) {
        const cancelled: Resolution = { decision: "cancelled", at: known.inquiry.askedAt };
        for (const awakeable of known.awakeables) ctx.resolveAwakeable(awakeable, cancelled);
      }
      ctx.clearAll();
    },
  };
}

function read(
  sdk: RestateSdk,
  ctx: ObjectSharedContext,
): Promise<[StoredConfirmation | null, Resolution | null]> {
  return readValues<[StoredConfirmation, Resolution]>(sdk, ctx, [INQUIRY_KEY, RESOLUTION_KEY]);
}
