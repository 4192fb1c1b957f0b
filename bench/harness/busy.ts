import { cpus } from "node:os";
import { setTimeout } from "node:timers/promises";

/** How long the processors are watched, in milliseconds. */
const WATCH_MS = 250;
/** The share of the processors above which other processes change the figures. */
const MAX_BUSY = 0.1;

/**
 * Returns the share of all processors that was busy for a moment in which this process waits: 0 to 1. Measure it before
 * rounds begin: the load average includes the benchmark itself, and what has ended minutes ago.
 */
export async function busyShare(): Promise<number> {
  const before = ticks();
  await setTimeout(WATCH_MS);
  const after = ticks();
  const total = after.total - before.total;
  return total === 0 ? 0 : 1 - (after.idle - before.idle) / total;
}

function ticks(): { readonly idle: number; readonly total: number } {
  const all = cpus().map(({ times }) => times);
  const idle = all.reduce((sum, times) => sum + times.idle, 0);
  const total = all.reduce((sum, times) => sum + Object.values(times).reduce((a, b) => a + b, 0), 0);
  return { idle, total };
}

/** Whether other processes change the figures that are measured at such a share. */
export function isBusy(share: number): boolean {
  return share > MAX_BUSY;
}

/** Returns a warning; `undefined` if the machine is idle enough. */
export function busyWarning(share: number): string | undefined {
  if (!isBusy(share)) return undefined;
  return `**Loaded machine**: other processes use ${(share * 100).toFixed(0)} % of the processors. Ratios depend on that, too.`;
}
