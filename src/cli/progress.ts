import { formatDuration } from "../base/units.ts";
import type { Terminal } from "./terminal.ts";

/** Work that is shorter shows nothing, unless it is known how long it takes. */
const FIRST_MS = 2_000;
const TERMINAL_INTERVAL_MS = 1_000;
const LINE_INTERVAL_MS = 30_000;
const CLEAR_LINE = "\r\u001b[K";

/**
 * Shows on standard error that work continues, once it has taken 2 seconds, or at once if `totalMs` is known: in one line that
 * is replaced on a terminal, and in a line every 30 seconds elsewhere. Dispose it when the work is done, before anything else
 * is printed.
 *
 * @param what What is being done, in Sandgate's own words: `verifying the journal`.
 * @param totalMs How long it takes, if that is known. Default: the time so far is shown.
 */
export function showProgress(
  { stderr }: Pick<Terminal, "stderr">,
  what: string,
  totalMs?: number,
): Disposable {
  const startedAt = performance.now();
  const isTerminal = stderr.isTTY === true;
  const firstMs = totalMs === undefined ? FIRST_MS : 0;
  const show = (): void => {
    const passed = performance.now() - startedAt;
    if (passed < firstMs) return;
    const left = totalMs === undefined ? undefined : Math.max(0, totalMs - passed);
    const time = formatDuration(Math.round((left ?? passed) / 1_000) * 1_000);
    const text = `${what}, ${time}${left === undefined ? "" : " left"}`;
    stderr.write(isTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`);
  };
  const timer = setInterval(show, isTerminal ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS);
  timer.unref();
  if (isTerminal) show();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      if (isTerminal && performance.now() - startedAt >= firstMs) stderr.write(CLEAR_LINE);
    },
  };
}
