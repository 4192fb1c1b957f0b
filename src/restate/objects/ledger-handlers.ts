import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { LedgerRecord } from "../../sessions/store/store.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { type ObjectHandlers, readPrefix, wholeReader } from "./handlers.ts";

/** The state of a ledger as JSON. */
export interface StoredLedger {
  readonly entries: readonly LedgerRecord[];
  /** `null` if calls may be missing up to now. */
  readonly missingUntil: number | null;
}

const MISSING_KEY = "missing";
const ENTRY_PREFIX = "entry/";

/** The handlers of the calls that conditions on earlier calls look back to. */
export function ledgerHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    put: async (ctx: ObjectContext, entry: LedgerRecord): Promise<void> => ctx.set(keyOf(entry.id), entry),

    remove: async (ctx: ObjectContext, id: string): Promise<void> => ctx.clear(keyOf(id)),

    drop: async (ctx: ObjectContext, { id, endedAt }: { id: string; endedAt: number }): Promise<void> => {
      const until = await missingUntil(ctx);
      ctx.clear(keyOf(id));
      if (until !== null) setMissing(ctx, Math.max(until, endedAt));
    },

    reset: async (
      ctx: ObjectContext,
      { missingUntil }: Pick<StoredLedger, "missingUntil">,
    ): Promise<void> => {
      ctx.clearAll();
      setMissing(ctx, missingUntil);
    },

    read: wholeReader(sdk, async (ctx: ObjectSharedContext): Promise<StoredLedger> => {
      const entries = await readPrefix<LedgerRecord>(sdk, ctx, ENTRY_PREFIX);
      return { entries, missingUntil: await missingUntil(ctx) };
    }),
  };
}

async function missingUntil(ctx: ObjectSharedContext): Promise<number | null> {
  const known = await ctx.get<{ readonly until: number | null }>(MISSING_KEY);
  return known === null ? 0 : known.until;
}

function setMissing(ctx: ObjectContext, until: number | null): void {
  ctx.set(MISSING_KEY, { until });
}

function keyOf(id: string): string {
  return `${ENTRY_PREFIX}${id}`;
}
