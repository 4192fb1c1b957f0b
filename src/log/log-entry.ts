import type { LogLevel } from "../tool/log-level.ts";

/** The levels, from the least to the most urgent. */
export const LOG_LEVELS: readonly LogLevel[] = Object.freeze(["debug", "info", "warn", "error"]);

/** The fields of an entry: flat, so that every line is easy to search. Fields that are `undefined` are not written. */
export type LogFields = Readonly<Record<string, LogField | undefined>>;

/** The value of a field. */
export type LogField = string | number | boolean | readonly string[];

/** Something that happened, for the operator. Its texts may be foreign and hold secrets: the log takes care of both. */
export interface LogEntry {
  readonly level: LogLevel;
  /** What happened: the type of a dispatch event, or a name such as `request.refused`. */
  readonly event: string;
  /** Milliseconds since the epoch. Default: now. */
  readonly at?: number;
  readonly fields?: LogFields;
}
