import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { CallPlace, ClaimedCall } from "../../engine/call/suspension.ts";
import { claimOf, type ProgramHeader } from "../../programs/stores/suspension-store.ts";
import type { ClaimState } from "../../record/identity.ts";
import type { RestateSdk } from "../connection/worker.ts";
import { callObject, type ObjectHandlers, reader, readPrefix, readValues, wholeReader } from "./handlers.ts";
import { type ObjectAddress, type StorePlace, shardOf, shards } from "./object-keys.ts";

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

/** Whether the template exists, so that its bytes need not be read. */
const KNOWN_KEY = "known";

const BYTES_KEY = "bytes";

/** Where a program was called. */
interface ProgramPlace extends CallPlace {
  readonly id: string;
}

const PROGRAM_PREFIX = "program/";

const TEMPLATE_PREFIX = "template/";

/** The names under which Restate knows the virtual objects of suspended programs. Operators see them. */
export const PROGRAM_OBJECT = "SandgateProgram";
export const TEMPLATE_OBJECT = "SandgateTemplate";
export const PROGRAM_INDEX_OBJECT = "SandgateProgramIndex";

export function programObject({ prefix }: StorePlace, id: string): ObjectAddress {
  return { service: PROGRAM_OBJECT, key: `${prefix}${id}` };
}

export function templateObject({ prefix }: StorePlace, digest: string): ObjectAddress {
  return { service: TEMPLATE_OBJECT, key: `${prefix}${digest}` };
}

/** The part of the index that lists the programs of a session, or a template. */
export function programIndexObject({ prefix }: StorePlace, sessionOrTemplate: string): ObjectAddress {
  return { service: PROGRAM_INDEX_OBJECT, key: `${prefix}${shardOf(sessionOrTemplate)}` };
}

/** All parts of the index. */
export function programIndexObjects({ prefix }: StorePlace): readonly ObjectAddress[] {
  return shards().map((shard) => ({ service: PROGRAM_INDEX_OBJECT, key: `${prefix}${shard}` }));
}

/** The handlers of a part of the index, which lists programs and templates. */
export function programIndexHandlers(sdk: RestateSdk): ObjectHandlers {
  const places = (ctx: ObjectSharedContext): Promise<readonly ProgramPlace[]> =>
    readPrefix<ProgramPlace>(sdk, ctx, PROGRAM_PREFIX);
  return {
    put: async (ctx: ObjectContext, place: ProgramPlace): Promise<void> =>
      ctx.set(`${PROGRAM_PREFIX}${place.id}`, place),

    remove: async (ctx: ObjectContext, ids: readonly string[]): Promise<void> => {
      for (const id of ids) ctx.clear(`${PROGRAM_PREFIX}${id}`);
    },

    list: wholeReader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<readonly string[]> => (await places(ctx)).map(({ id }) => id),
    ),

    /** Returns the ids of the programs that were called by the tool of a call. */
    nested: wholeReader(
      sdk,
      async (ctx: ObjectSharedContext, of: CallPlace): Promise<readonly string[]> =>
        (await places(ctx)).filter((place) => isBelow(place, of)).map(({ id }) => id),
    ),

    putTemplate: async (ctx: ObjectContext, digest: string): Promise<void> =>
      ctx.set(`${TEMPLATE_PREFIX}${digest}`, digest),

    removeTemplate: async (ctx: ObjectContext, digest: string): Promise<void> =>
      ctx.clear(`${TEMPLATE_PREFIX}${digest}`),

    templates: wholeReader(
      sdk,
      (ctx: ObjectSharedContext): Promise<readonly string[]> => readPrefix<string>(sdk, ctx, TEMPLATE_PREFIX),
    ),

    /** Confirms that the objects can be called. */
    ping: reader(sdk, async (_: ObjectSharedContext): Promise<void> => {}),
  };
}

function isBelow(place: CallPlace, caller: CallPlace): boolean {
  return (
    place.sessionId === caller.sessionId &&
    place.turnId === caller.turnId &&
    place.messageId === caller.messageId &&
    place.callId.startsWith(`${caller.callId}/`)
  );
}

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

    /** Returns `false` if the previous revision does not exist, or does not wait. */
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
    ): Promise<ClaimState> => {
      const keys = [HEADER_KEY, keyOf(number)];
      const [header, known] = await readValues<[ProgramHeader, CallText]>(sdk, ctx, keys);
      if (header?.revision !== revision) return "conflict";
      const claim = claimOf(known ?? undefined, digest);
      if (claim === "fresh") ctx.set<CallText>(keyOf(number), { number, digest });
      return claim;
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
