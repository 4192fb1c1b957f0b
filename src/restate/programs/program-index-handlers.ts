import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { CallPlace } from "../../engine/call/suspension.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectHandlers } from "../objects/object-handlers.ts";
import { readPrefix } from "../objects/read-values.ts";
import { reader, wholeReader } from "../objects/readers.ts";

/** Where a program was called. */
interface ProgramPlace extends CallPlace {
  readonly id: string;
}

const PROGRAM_PREFIX = "program/";
const TEMPLATE_PREFIX = "template/";

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

    /** Says that the objects can be called. */
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
