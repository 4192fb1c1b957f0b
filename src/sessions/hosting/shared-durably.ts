import { Approvals } from "../approvals/approvals.ts";
import type { DurableRuntime } from "../durable/durable-runtime.ts";
import type { Shared } from "../shared.ts";
import { GuardedStore } from "../store/guarded-store.ts";

/**
 * Returns what the sessions of a durable runtime share, beside those that only this process has.
 *
 * @param now Returns milliseconds since the epoch.
 */
export function sharedDurably(
  durable: DurableRuntime,
  own: Shared & { isSuspended: boolean },
  now: () => number,
): Shared & { isSuspended: boolean } {
  const table = new GuardedStore(durable.store);
  return {
    ...own,
    table,
    store: table,
    durable,
    inquiries: durable.openInquiries({ timeoutMs: own.settings.timeoutMs }),
    approvals: new Approvals(table, now, { isShared: true }),
  };
}
