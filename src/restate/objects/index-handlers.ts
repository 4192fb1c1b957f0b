import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { SessionRecord } from "../../sessions/store/store.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { type ObjectHandlers, reader, readPrefix, wholeReader } from "./handlers.ts";

/** A session, and a number that says which of two was added first. */
export interface IndexedSession {
  readonly record: SessionRecord;
  readonly place: number;
}

const PREFIX = "session/";

/** The handlers of a part of the index, which lists sessions. */
export function indexHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    put: async (ctx: ObjectContext, session: IndexedSession): Promise<void> =>
      ctx.set(keyOf(session.record.id), session),

    remove: async (ctx: ObjectContext, sessionId: string): Promise<void> => ctx.clear(keyOf(sessionId)),

    list: wholeReader(
      sdk,
      (ctx: ObjectSharedContext): Promise<readonly IndexedSession[]> => readPrefix(sdk, ctx, PREFIX),
    ),

    /** Says that the objects can be called. */
    ping: reader(sdk, async (_: ObjectSharedContext): Promise<void> => {}),
  };
}

function keyOf(sessionId: string): string {
  return `${PREFIX}${sessionId}`;
}
