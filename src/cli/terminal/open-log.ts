import type { ConfigProblem } from "../../config/problem.ts";
import { Log } from "../../log/log.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { LogSettings } from "../config/load-log.ts";
import type { Terminal } from "./terminal.ts";

/** Opens the operator's log on standard error. */
export function openLog(
  { stderr }: Terminal,
  { level, format = "auto" }: LogSettings,
  redaction: Redaction | undefined,
): Log {
  const chosen = format === "auto" ? (stderr.isTTY ? "text" : "json") : format;
  return new Log({ stream: stderr, level, format: chosen, redaction });
}

/** Writes the warnings about a config to the log. */
export function logWarnings(warnings: readonly ConfigProblem[], log: Log): void {
  for (const { file, line, column, message } of warnings) {
    log.write({ level: "warn", event: "config.warning", fields: { file, line, column, message } });
  }
}
