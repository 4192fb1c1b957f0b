import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ClaimedCall } from "../../engine/call/suspension.ts";
import type { CallClaim, ProgramHeader } from "../../programs/stores/suspension-store.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { callObject } from "../objects/call-object.ts";
import type { ObjectHandlers } from "../objects/object-handlers.ts";
import type { StorePlace } from "../objects/object-keys.ts";
import { readPrefix, readValues } from "../objects/read-values.ts";
import { reader } from "../objects/readers.ts";
import { programIndexObject, programObject } from "./program-objects.ts";

/** A call of a program's tool, with its result as Base64. */
export interface CallText {
  readonly number: number;
  readonly digest: string;
  readonly sealed?: string;
}

/** A program, with what is sealed as Base64. */
export interface ProgramText {
  readonly header: ProgramHeader;
  readonly sealed: string;
}

const HEADER_KEY = "header";
const SEALED_KEY = "sealed";
const CALL_PREFIX = "call/";

/** The handlers of a suspended program. */
export function programHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** Returns `false` if the program is known with another revision before this one. */
    put: async (
      ctx: ObjectContext,
      input: ProgramText & { readonly store: StorePlace; readonly calls: readonly CallText[] },
    ): Promise<boolean> => {
      const { store, header, sealed, calls } = input;
      const known = await ctx.get<ProgramHeader>(HEADER_KEY);
      if ((known?.revision ?? 0) !== header.revision - 1) return false;
      for (const call of calls) ctx.set(keyOf(call.number), call);
      ctx.set(SEALED_KEY, sealed);
      ctx.set(HEADER_KEY, header);
      if (known === null) {
        const { id, sessionId, turnId, messageId, callId } = header;
        const place = { id, sessionId, turnId, messageId, callId };
        await callObject(sdk, ctx, programIndexObject(store, sessionId), "put", place);
      }
      return true;
    },

    /** Returns `false` if the revision before is not there, or does not wait. */
    replace: async (ctx: ObjectContext, { header, sealed }: ProgramText): Promise<boolean> => {
      const known = await ctx.get<ProgramHeader>(HEADER_KEY);
      if (known?.state !== "waiting" || known.revision !== header.revision - 1) return false;
      ctx.set(SEALED_KEY, sealed);
      ctx.set(HEADER_KEY, header);
      return true;
    },

    /** Returns `false` if the program does not wait, or has another revision. */
    take: async (ctx: ObjectContext, revision: number): Promise<boolean> => {
      const header = await ctx.get<ProgramHeader>(HEADER_KEY);
      if (header?.state !== "waiting" || header.revision !== revision) return false;
      ctx.set<ProgramHeader>(HEADER_KEY, { ...header, state: "taken" });
      return true;
    },

    read: reader(sdk, async (ctx: ObjectSharedContext): Promise<ProgramText | undefined> => {
      const [header, sealed] = await readValues<[ProgramHeader, string]>(sdk, ctx, [HEADER_KEY, SEALED_KEY]);
      return header === null || sealed === null ? undefined : { header, sealed };
    }),

    header: reader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<ProgramHeader | undefined> =>
        (await ctx.get<ProgramHeader>(HEADER_KEY)) ?? undefined,
    ),

    /** Removes the program, and the programs of its calls. Returns `false` if it is unknown. */
    remove: async (ctx: ObjectContext, { store }: { store: StorePlace }): Promise<boolean> => {
      const header = await ctx.get<ProgramHeader>(HEADER_KEY);
      if (header === null) return false;
      const index = programIndexObject(store, header.sessionId);
      const nested = await callObject<readonly string[]>(sdk, ctx, index, "nested", header);
      if (nested.length > 0) {
        await sdk.RestatePromise.all(
          nested.map((id) => callObject(sdk, ctx, programObject(store, id), "drop")),
        );
      }
      await callObject(sdk, ctx, index, "remove", [header.id, ...nested]);
      ctx.clearAll();
      return true;
    },

    /** Removes this program alone. */
    drop: async (ctx: ObjectContext): Promise<void> => ctx.clearAll(),

    claim: async (
      ctx: ObjectContext,
      { revision, call: { number, digest } }: { revision: number; call: ClaimedCall },
    ): Promise<CallClaim> => {
      const keys = [HEADER_KEY, keyOf(number)];
      const [header, known] = await readValues<[ProgramHeader, CallText]>(sdk, ctx, keys);
      if (header?.revision !== revision) return "conflict";
      if (known === null) {
        ctx.set<CallText>(keyOf(number), { number, digest });
        return "fresh";
      }
      if (known.digest !== digest) return "conflict";
      return known.sealed === undefined ? "begun" : "ended";
    },

    end: async (
      ctx: ObjectContext,
      { revision, call }: { revision: number; call: CallText },
    ): Promise<void> => {
      const keys = [HEADER_KEY, keyOf(call.number)];
      const [header, known] = await readValues<[ProgramHeader, CallText]>(sdk, ctx, keys);
      if (header?.revision === revision && known?.sealed === undefined) ctx.set(keyOf(call.number), call);
    },

    calls: reader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<readonly CallText[]> =>
        [...(await readPrefix<CallText>(sdk, ctx, CALL_PREFIX))].sort(
          (one, other) => one.number - other.number,
        ),
    ),
  };
}

function keyOf(number: number): string {
  return `${CALL_PREFIX}${number}`;
}
