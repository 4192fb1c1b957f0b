import type { Writable } from "node:stream";
import { beginning, wellFormed } from "../base/text.ts";
import { Redaction } from "../redaction/redaction.ts";
import { escapeText } from "../rendering/escaping/escape.ts";
import { textOf } from "../rendering/render.ts";
import type { LogLevel } from "../tool/log-level.ts";
import { LINE_FORMATS, type LogFormat } from "./line-format.ts";
import { LineStream } from "./line-stream.ts";
import { LOG_LEVELS, type LogEntry, type LogField } from "./log-entry.ts";

/** The options of {@link Log}. */
export interface LogOptions {
  readonly stream: Writable;
  /** Entries of a lower level are not written. Default: `"info"`. */
  readonly level?: LogLevel | undefined;
  readonly format: LogFormat;
  /** Hides the secrets in texts. Default: those that a {@link Redaction} knows by itself. */
  readonly redaction?: Redaction | undefined;
}

/** The longest text in a line. */
const MAX_TEXT_LENGTH = 4_096;
/** The longest text that is searched for secrets. One that this cuts, so that it is not found, is not shown either. */
const MAX_SEARCHED_LENGTH = 16 * MAX_TEXT_LENGTH;
const MAX_ITEMS = 50;
/** In both formats, every foreign text is JSON. Notes would not be. */
const ESCAPES = { syntax: "json", maxSpaces: Number.POSITIVE_INFINITY } as const;

/**
 * The log for operators: one line for each entry, without secrets, and without control characters of foreign texts. It
 * never waits for its reader; lines that a slow reader misses are counted in an entry `log.lost`.
 */
export class Log implements AsyncDisposable {
  /** Hides the secrets in texts. Values have to be redacted before they become texts. */
  readonly redaction: Redaction;
  readonly #lines: LineStream;
  readonly #lowest: number;
  readonly #format: LogFormat;

  constructor({ stream, level = "info", format, redaction = new Redaction() }: LogOptions) {
    this.#lines = new LineStream(stream, (lines) =>
      this.#lineOf({ level: "error", event: "log.lost", fields: { lines } }),
    );
    this.#lowest = LOG_LEVELS.indexOf(level);
    this.#format = format;
    this.redaction = redaction;
  }

  /** Whether entries of a level are written. */
  has(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= this.#lowest;
  }

  /** Writes an entry, unless its level is too low. */
  write(entry: LogEntry): void {
    if (this.has(entry.level)) this.#lines.write(this.#lineOf(entry));
  }

  /** Waits until everything is written, for at most a second. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.flush();
  }

  #lineOf({ level, event, at = Date.now(), fields = {} }: LogEntry): string {
    const shown = Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, this.#shown(value)] as const],
    );
    const line = LINE_FORMATS[this.#format]({ level, event, at, fields: shown });
    return textOf({ segments: escapeText(line, ESCAPES) });
  }

  #shown(value: LogField): LogField {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object") return value;
    const items = value.slice(0, MAX_ITEMS).map((item) => this.#text(item));
    return value.length > MAX_ITEMS ? [...items, `and ${value.length - MAX_ITEMS} more`] : items;
  }

  #text(text: string): string {
    const shown = wellFormed(this.redaction.text(beginning(text, MAX_SEARCHED_LENGTH)));
    return shown.length <= MAX_TEXT_LENGTH ? shown : `${beginning(shown, MAX_TEXT_LENGTH)}…`;
  }
}
