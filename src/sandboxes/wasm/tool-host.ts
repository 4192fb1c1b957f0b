import type { LogLevel } from "../log-level.ts";
import type { WasiMembers } from "./wasi/members.ts";

/**
 * `sandgate:tool/host` (`wit/tool.wit`), for one call.
 *
 * @param log Takes the lines.
 * @param wallTimeMs How long the call may take from now; `undefined` for no limit.
 */
export function toolHost(
  log: (level: LogLevel, line: string) => void,
  wallTimeMs: number | undefined,
): WasiMembers {
  const deadline = performance.now() + (wallTimeMs ?? Number.POSITIVE_INFINITY);
  return {
    // A component declares by itself of what types the arguments are.
    log: (level: unknown, message: unknown) => log(isLevel(level) ? level : "info", String(message)),
    progress(done: unknown, total: unknown, message: unknown): void {
      const share = total === undefined ? String(done) : `${String(done)} of ${String(total)}`;
      log("info", message === undefined ? `progress: ${share}` : `progress: ${share}: ${String(message)}`);
    },
    cancelled: () => performance.now() > deadline,
  };
}

function isLevel(level: unknown): level is LogLevel {
  return level === "debug" || level === "info" || level === "warn" || level === "error";
}
