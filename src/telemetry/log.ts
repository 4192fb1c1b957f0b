import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { beginning, wellFormed } from "../base/text.ts";
import { Redaction } from "../redaction/redaction.ts";
import { escapeText } from "../rendering/escape.ts";
import { textOf } from "../rendering/render.ts";
import type { LogLevel } from "../tool/streamed.ts";

/** The levels, from the least to the most urgent. */
export const LOG_LEVELS: readonly LogLevel[] = Object.freeze(["debug", "info", "warn", "error"]);

/** The fields of an entry: flat, so that every line is easy to search. Fields that are `undefined` are not written. */
export type LogFields = Readonly<Record<string, LogField | undefined>>;

/** The value of a field. */
type LogField = string | number | boolean | readonly string[];

/** Something that happened, for the operator. Its texts may be foreign and hold secrets: the log takes care of both. */
export interface LogEntry {
  readonly level: LogLevel;
  /** What happened: the type of a dispatch event, or a name such as `request.refused`. */
  readonly event: string;
  /** Milliseconds since the epoch. Default: now. */
  readonly at?: number;
  readonly fields?: LogFields;
}

/** How lines are written: as JSON for programs, or as text for people. */
type LogFormat = "json" | "text";

/** An entry whose fields are ready to be shown. */
interface ShownEntry {
  readonly level: LogLevel;
  readonly event: string;
  readonly at: number;
  readonly fields: readonly (readonly [name: string, value: LogField])[];
}

/** Formats an entry as one line, without its end. Foreign text in it is JSON, and is not escaped otherwise. */
const LINE_FORMATS: Readonly<Record<LogFormat, (entry: ShownEntry) => string>> = Object.freeze({
  json: ({ level, event, at, fields }) =>
    JSON.stringify({ time: new Date(at).toISOString(), level, event, ...Object.fromEntries(fields) }),
  text: ({ level, event, at, fields }) =>
    [
      new Date(at).toISOString(),
      level.padEnd("error".length),
      event,
      ...fields.map(([name, value]) => `${name}=${textOfField(value)}`),
    ].join(" "),
});

/** A text that needs no quotes, as it cannot be taken for anything else. */
const PLAIN = /^[\w./:@+-]+$/;

/** Bytes of lines that may wait for a slow reader. */
const MAX_WAITING_BYTES = 1_024 * 1_024;

/** How long {@link LineStream.flush} waits for a slow reader. */
const FLUSH_MS = 1_000;

/**
 * Writes lines to a stream without waiting for its reader. Lines that come while too many bytes wait are lost, and are
 * counted.
 */
class LineStream {
  readonly #stream: Writable;
  readonly #onLost: (count: number) => string;
  #lost = 0;

  /** @param onLost Returns the line that says how many lines were lost. */
  constructor(stream: Writable, onLost: (count: number) => string) {
    this.#stream = stream;
    this.#onLost = onLost;
  }

  /** Writes a line, or counts it as lost. */
  write(line: string): void {
    if (!this.#stream.writable) return;
    if (this.#lost > 0 || this.#isFull) this.#lose();
    else this.#stream.write(`${line}\n`);
  }

  /** Resolves when everything is written, or the reader has been too slow for a second. */
  async flush(): Promise<void> {
    const waited = new AbortController();
    const tooLate = delay(FLUSH_MS, undefined, { signal: waited.signal }).catch(() => {});
    // The line that tells of lost ones is written when all the others are.
    await Promise.race([this.#written().then(() => this.#written()), tooLate]);
    waited.abort();
  }

  #written(): Promise<void> {
    if (!this.#stream.writable) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.write("", () => resolve());
    });
  }

  get #isFull(): boolean {
    return this.#stream.writableLength > MAX_WAITING_BYTES;
  }

  #lose(): void {
    if (this.#lost++ === 0) this.#stream.once("drain", this.#tellLost);
  }

  readonly #tellLost = (): void => {
    const count = this.#lost;
    this.#lost = 0;
    this.#stream.write(`${this.#onLost(count)}\n`);
  };
}

/** The options of {@link Log}. */
export interface LogOptions {
  readonly stream: Writable;
  /** Entries of a lower level are not written. Default: `"info"`. */
  readonly level?: LogLevel | undefined;
  readonly format: LogFormat;
  /** Hides the secrets in texts. Default: those that a {@link Redaction} knows by itself. */
  readonly redaction?: Redaction | undefined;
}

/** The least level that is written, if nothing else is said. */
export const DEFAULT_LEVEL: LogLevel = "info";

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
  #lowest: number;
  readonly #format: LogFormat;

  constructor({ stream, level = DEFAULT_LEVEL, format, redaction = new Redaction() }: LogOptions) {
    this.#lines = new LineStream(stream, (lines) =>
      this.#lineOf({ level: "error", event: "log.lost", fields: { lines } }),
    );
    this.#lowest = LOG_LEVELS.indexOf(level);
    this.#format = format;
    this.redaction = redaction;
  }

  /** Changes the least level that is written. */
  set level(level: LogLevel) {
    this.#lowest = LOG_LEVELS.indexOf(level);
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

function textOfField(value: LogField): string {
  return typeof value === "string" && PLAIN.test(value) ? value : JSON.stringify(value);
}
