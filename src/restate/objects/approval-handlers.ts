import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Approval, StoredApproval } from "../../sessions/approvals/approval.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import { readPrefix, readValues } from "./read-values.ts";
import { reader, wholeReader } from "./readers.ts";

interface KeptApproval extends StoredApproval {
  readonly place: number;
}

const PLACE_KEY = "place";
const APPROVAL_PREFIX = "approval/";
/** Before the id of an approval that was removed; the value is the id of its session. */
const REMOVED_PREFIX = "removed/";

/** The handlers of the approvals of all sessions and workspaces. */
export function approvalHandlers(sdk: RestateSdk): ObjectHandlers {
  const { exclusive } = sdk.handlers.object;
  return {
    /** Returns `false` if the approval was removed before. */
    add: async (
      ctx: ObjectContext,
      { approval, place: given }: { approval: Approval; place: number },
    ): Promise<boolean> => {
      const keys = [keyOf(approval.id), PLACE_KEY, REMOVED_PREFIX + approval.id];
      const [known, last, removed] = await readValues<[KeptApproval, number, string]>(sdk, ctx, keys);
      if (known !== null || removed !== null) return known !== null;
      const place = Math.max(given, (last ?? 0) + 1);
      ctx.set(PLACE_KEY, place);
      ctx.set<KeptApproval>(keyOf(approval.id), { approval, used: 0, place });
      return true;
    },

    has: reader(
      sdk,
      async (ctx: ObjectSharedContext, id: string): Promise<boolean> => (await ctx.get(keyOf(id))) !== null,
    ),

    /** Returns `false` if the approval is unknown or used up. */
    use: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<KeptApproval>(keyOf(id));
      if (known === null) return false;
      if (known.approval.calls !== undefined && known.used >= known.approval.calls) return false;
      ctx.set<KeptApproval>(keyOf(id), { ...known, used: known.used + 1 });
      return true;
    },

    /** Returns `false` if the approval is unknown. */
    remove: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<KeptApproval>(keyOf(id));
      if (known === null) return false;
      ctx.clear(keyOf(id));
      // A call that was not claimed yet when its process died adds it again.
      ctx.set(REMOVED_PREFIX + id, known.approval.sessionId);
      return true;
    },

    /** Removes the approvals of a session, except those of its workspace. */
    removeSession: exclusive(
      { enableLazyState: false },
      async (ctx: ObjectContext, sessionId: string): Promise<void> => {
        for (const { approval } of await readPrefix<KeptApproval>(sdk, ctx, APPROVAL_PREFIX)) {
          if (approval.sessionId === sessionId && approval.for !== "workspace") ctx.clear(keyOf(approval.id));
        }
        const removed = (await ctx.stateKeys()).filter((key) => key.startsWith(REMOVED_PREFIX));
        const sessions = await readValues<readonly string[]>(sdk, ctx, removed);
        for (const [index, key] of removed.entries()) if (sessions[index] === sessionId) ctx.clear(key);
      },
    ),

    list: wholeReader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<readonly StoredApproval[]> =>
        [...(await readPrefix<KeptApproval>(sdk, ctx, APPROVAL_PREFIX))]
          .sort((one, other) => one.place - other.place)
          .map(({ approval, used }) => ({ approval, used })),
    ),
  };
}

function keyOf(id: string): string {
  return `${APPROVAL_PREFIX}${id}`;
}
