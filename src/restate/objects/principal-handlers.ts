import type { ObjectContext } from "@restatedev/restate-sdk";
import type { ObjectHandlers } from "./object-handlers.ts";

/** The most open sessions of one principal, on all servers; those without a principal share this number. */
const MAX_SESSIONS = 1_000;
const KEY = "sessions";

/** The handlers of a principal: which sessions it has open. */
export function principalHandlers(): ObjectHandlers {
  const read = async (ctx: ObjectContext): Promise<readonly string[]> => (await ctx.get<string[]>(KEY)) ?? [];
  return {
    /** Returns `false` if the principal has as many sessions as it may. */
    add: async (ctx: ObjectContext, sessionId: string): Promise<boolean> => {
      const sessions = await read(ctx);
      if (sessions.includes(sessionId)) return true;
      if (sessions.length >= MAX_SESSIONS) return false;
      ctx.set(KEY, [...sessions, sessionId]);
      return true;
    },

    remove: async (ctx: ObjectContext, sessionId: string): Promise<void> => {
      const left = (await read(ctx)).filter((id) => id !== sessionId);
      if (left.length > 0) ctx.set(KEY, left);
      else ctx.clear(KEY);
    },
  };
}
