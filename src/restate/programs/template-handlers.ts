import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";
import { callObject } from "../objects/call-object.ts";
import type { ObjectHandlers } from "../objects/object-handlers.ts";
import type { StorePlace } from "../objects/object-keys.ts";
import { reader } from "../objects/readers.ts";
import { programIndexObject } from "./program-objects.ts";

/** Whether the template is there, so that its bytes need not be read. */
const KNOWN_KEY = "known";
const BYTES_KEY = "bytes";

/** The handlers of a template. */
export function templateHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** @param input Has the bytes as Base64. */
    add: async (
      ctx: ObjectContext,
      { store, digest, bytes }: { store: StorePlace; digest: string; bytes: string },
    ): Promise<void> => {
      if ((await ctx.get(KNOWN_KEY)) !== null) return;
      ctx.set(BYTES_KEY, bytes);
      ctx.set(KNOWN_KEY, true);
      await callObject(sdk, ctx, programIndexObject(store, digest), "putTemplate", digest);
    },

    has: reader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<boolean> => (await ctx.get(KNOWN_KEY)) !== null,
    ),

    read: reader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<string | undefined> =>
        (await ctx.get<string>(BYTES_KEY)) ?? undefined,
    ),

    /** Returns `false` if the template is unknown. */
    remove: async (
      ctx: ObjectContext,
      { store, digest }: { store: StorePlace; digest: string },
    ): Promise<boolean> => {
      const isKnown = (await ctx.get(KNOWN_KEY)) !== null;
      await callObject(sdk, ctx, programIndexObject(store, digest), "removeTemplate", digest);
      ctx.clearAll();
      return isKnown;
    },
  };
}
