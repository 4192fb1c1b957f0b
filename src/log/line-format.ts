import type { LogLevel } from "../tool/log-level.ts";
import type { LogField } from "./log-entry.ts";

/** How lines are written: as JSON for programs, or as text for people. */
export type LogFormat = "json" | "text";

/** An entry whose fields are ready to be shown. */
export interface ShownEntry {
  readonly level: LogLevel;
  readonly event: string;
  readonly at: number;
  readonly fields: readonly (readonly [name: string, value: LogField])[];
}

/** Formats an entry as one line, without its end. Foreign text in it is JSON, and is not escaped otherwise. */
export const LINE_FORMATS: Readonly<Record<LogFormat, (entry: ShownEntry) => string>> = Object.freeze({
  json: ({ level, event, at, fields }) =>
    JSON.stringify({ time: new Date(at).toISOString(), level, event, ...Object.fromEntries(fields) }),
  text: ({ level, event, at, fields }) =>
    [
      new Date(at).toISOString(),
      level.padEnd("error".length),
      event,
      ...fields.map(([name, value]) => `${name}=${textOf(value)}`),
    ].join(" "),
});

/** A text that needs no quotes, as it cannot be taken for anything else. */
const PLAIN = /^[\w./:@+-]+$/;

function textOf(value: LogField): string {
  return typeof value === "string" && PLAIN.test(value) ? value : JSON.stringify(value);
}
