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
