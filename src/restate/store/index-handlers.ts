import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { SessionRecord } from "../../sessions/store/records.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import { readPrefix } from "./read-values.ts";

/** A session, and a number that says which of two was added first. */
export interface IndexedSession {
  readonly record: SessionRecord;
  readonly place: number;
}

const PREFIX = "session/";

/** The handlers of a part of the index, which lists sessions. */
export function indexHandlers(sdk: RestateSdk): ObjectHandlers {
  const { shared } = sdk.handlers.object;
  return {
    put: async (ctx: ObjectContext, session: IndexedSession): Promise<void> =>
      ctx.set(keyOf(session.record.id), session),

    remove: async (ctx: ObjectContext, sessionId: string): Promise<void> => ctx.clear(keyOf(sessionId)),

    list: shared(
      { enableLazyState: false },
      (ctx: ObjectSharedContext): Promise<readonly IndexedSession[]> => readPrefix(sdk, ctx, PREFIX),
    ),

    /** Says that the objects can be called. */
    ping: shared(async (_: ObjectSharedContext): Promise<void> => {}),
  };
}

function keyOf(sessionId: string): string {
  return `${PREFIX}${sessionId}`;
}
