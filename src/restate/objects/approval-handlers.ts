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

/** The handlers of the approvals of all sessions and workspaces. */
export function approvalHandlers(sdk: RestateSdk): ObjectHandlers {
  const { exclusive } = sdk.handlers.object;
  return {
    add: async (
      ctx: ObjectContext,
      { approval, place: given }: { approval: Approval; place: number },
    ): Promise<void> => {
      const keys = [keyOf(approval.id), PLACE_KEY];
      const [known, last] = await readValues<[KeptApproval, number]>(sdk, ctx, keys);
      if (known !== null) return;
      const place = Math.max(given, (last ?? 0) + 1);
      ctx.set(PLACE_KEY, place);
      ctx.set<KeptApproval>(keyOf(approval.id), { approval, used: 0, place });
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
      if ((await ctx.get(keyOf(id))) === null) return false;
      ctx.clear(keyOf(id));
      return true;
    },

    /** Removes the approvals of a session, except those of its workspace. */
    removeSession: exclusive(
      { enableLazyState: false },
      async (ctx: ObjectContext, sessionId: string): Promise<void> => {
        for (const { approval } of await readPrefix<KeptApproval>(sdk, ctx, APPROVAL_PREFIX)) {
          if (approval.sessionId === sessionId && approval.for !== "workspace") ctx.clear(keyOf(approval.id));
        }
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
