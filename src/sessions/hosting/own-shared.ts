import { Redaction } from "../../redaction/redaction.ts";
import { Approvals } from "../approvals/approvals.ts";
import { ChangeListeners } from "../changes/session-changes.ts";
import { Inquiries } from "../confirmations/inquiries.ts";
import type { SteadyClock } from "../confirmations/steady-clock.ts";
import { Ledgers } from "../ledger/ledgers.ts";
import { ModeListeners } from "../modes/mode-changes.ts";
import type { Settings } from "../options.ts";
import type { Shared } from "../shared.ts";
import { GuardedStore } from "../store/guarded-store.ts";
import { MemorySessionStore } from "../store/memory-store.ts";
import type { SessionStore } from "../store/store.ts";
import { RestingTurn } from "../turns/resting-turn.ts";

/** Returns what the sessions of this process share, without a durable runtime. */
export function ownShared(
  settings: Settings,
  store: SessionStore | undefined,
  clock: SteadyClock,
  { onIdle, remove }: Pick<Shared, "onIdle" | "remove">,
): Shared & { isSuspended: boolean } {
  const table = new GuardedStore(store ?? new MemorySessionStore());
  const { timeoutMs } = settings;
  return {
    settings,
    table,
    store: store && table,
    durable: undefined,
    isSuspended: false,
    redaction: settings.context.redaction ?? new Redaction(),
    inquiries: new Inquiries({ store: table, timeoutMs, clock }),
    approvals: new Approvals(table, () => clock.now()),
    modeListeners: new ModeListeners(),
    changeListeners: new ChangeListeners(),
    stagedQuota: { held: undefined },
    resting: new RestingTurn(),
    ledgers: new Ledgers({ maxEntries: settings.ledgerEntries, clock, table: store?.ledger }),
    onIdle,
    remove,
  };
}
