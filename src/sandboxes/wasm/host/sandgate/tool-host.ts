import type { LogLevel } from "../../../../tool/log-level.ts";
import type { CurrentCall } from "../current-call.ts";
import type { InterfaceMembers } from "../interface-members.ts";

/** Returns `sandgate:tool/host` (`wit/tool.wit`). */
export function toolHost(call: () => CurrentCall): InterfaceMembers {
  const log = (level: LogLevel, line: string): void => call().log.write(level, line);
  return {
    // A component declares the types of the arguments itself, so they can be any values.
    log: (level: unknown, message: unknown) => log(isLevel(level) ? level : "info", String(message)),
    progress(done: unknown, total: unknown, message: unknown): void {
      const share = total === undefined ? String(done) : `${String(done)} of ${String(total)}`;
      log("info", message === undefined ? `progress: ${share}` : `progress: ${share}: ${String(message)}`);
    },
    cancelled: () => call().isOver,
  };
}

function isLevel(level: unknown): level is LogLevel {
  return level === "debug" || level === "info" || level === "warn" || level === "error";
}
