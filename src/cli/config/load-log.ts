import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, defaultOf, described, mapOf } from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import { type TypeOf, typed } from "../../json/shape.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { DEFAULT_LEVEL, LOG_LEVELS, Log } from "../../telemetry/log.ts";
import type { LogLevel } from "../../tool/streamed.ts";
import type { Terminal } from "../terminal.ts";

const LOG = mapOf({
  level: described(
    typed<LogLevel>({ type: "string", enum: LOG_LEVELS }),
    "The least level that is written.",
    DEFAULT_LEVEL,
  ),
  format: described(
    typed<"auto" | "json" | "text">({ type: "string", enum: ["auto", "json", "text"] }),
    "The form of a line. `auto` is text on a terminal, and JSON elsewhere.",
    "auto",
  ),
});

/** How the operator's log is written. */
export type LogSettings = TypeOf<typeof LOG>;

/** The shape of `log`. */
export const LOG_SHAPE: CompiledShape = compileShape(LOG);

/**
 * Loads the `log` of a config.
 *
 * @param problems Receives every problem.
 */
export function loadLog(source: ConfigSource, problems: ConfigProblem[]): LogSettings {
  if (source.at(["log"]) === undefined) return {};
  return source.read<LogSettings>(LOG_SHAPE, problems, ["log"])?.value ?? {};
}

/** Opens the operator's log on standard error. */
export function openLog(
  { stderr }: Terminal,
  { level, format = defaultOf(LOG, "format") }: LogSettings,
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
