import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { CollectedBytes } from "../../base/collected-bytes.ts";
import type { MemoryLease } from "../contract/guest-memory.ts";

/** Maximum number of continuation bytes of a UTF-8 character. */
const MAX_CONTINUATION = 3;

/** The last bytes of what is written, up to a number of them. */
export class Tail {
  readonly #most: number;
  readonly #collected = new CollectedBytes();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many bytes were written. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const last = this.#most === 0 ? Buffer.alloc(0) : chunk.subarray(-this.#most);
    this.#collected.add(last);
    // Amortised: copied only when twice the limit has been collected.
    if (this.#collected.length > 2 * this.#most) this.#cut();
  }

  #cut(): void {
    const last = this.read();
    this.#collected.clear();
    // A copy, so that the other bytes can be freed.
    this.#collected.add(Buffer.from(last));
  }

  read(): Buffer {
    const all = this.#collected.read();
    return all.subarray(Math.max(all.length - this.#most, 0));
  }
}

/** A text, perhaps with its middle left out. */
export interface TruncatedText {
  readonly text: string;
  /** Whether nothing was left out. */
  readonly isWhole: boolean;
}

/** The beginning and the end of the bytes that a program writes, each up to a number of them. */
export class Ends {
  readonly #most: number;
  readonly #head = new CollectedBytes();
  readonly #tail: Tail;

  /** @param most The most bytes of the beginning, and of the end. */
  constructor(most: number) {
    this.#most = most;
    this.#tail = new Tail(most);
  }

  /** How many bytes were written. */
  get bytes(): number {
    return this.#head.length + this.#tail.bytes;
  }

  add(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#most - this.#head.length);
    if (first.length > 0) this.#head.add(first);
    if (first.length < chunk.length) this.#tail.add(chunk.subarray(first.length));
  }

  /**
   * Returns the text, in which invalid bytes are U+FFFD: the whole, or its beginning and its end with a note
   * between them that counts the bytes that are left out.
   *
   * @param most The most bytes of the beginning, and of the end. Default: all that were collected.
   */
  text(most: number = this.#most): TruncatedText {
    const collected = Buffer.concat([this.#head.read(), this.#tail.read()]);
    const each = Math.min(most, this.#most);
    if (this.bytes <= 2 * each) return { text: collected.toString("utf8"), isWhole: true };
    const first = wholeEnd(collected.subarray(0, each));
    const last = wholeStart(collected.subarray(collected.length - each));
    const note = leftOutNote(this.bytes - first.length - last.length);
    return { text: first.toString("utf8") + note + last.toString("utf8"), isWhole: false };
  }
}

/** The longest line that is not split, in UTF-16 code units. */
const MAX_LINE = 8_192;

/** Splits the text that a program writes into lines. A longer line than 8,192 code units is split. */
export class LineReader {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  #rest = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#add(line);
    while (this.#rest.length > MAX_LINE) {
      this.#onLine(this.#rest.slice(0, MAX_LINE));
      this.#rest = this.#rest.slice(MAX_LINE);
    }
  }

  end(): void {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = "";
    if (rest !== "") this.#add(rest);
  }

  #add(line: string): void {
    for (let from = 0; from === 0 || from < line.length; from += MAX_LINE)
      this.#onLine(line.slice(from, from + MAX_LINE));
  }
}

const LINE_FEED = 0x0a;

/** The bytes that a program wrote, up to a limit. */
export class CollectedOutput {
  readonly #collected = new CollectedBytes();
  readonly #most: number;
  #bytes = 0;
  /** The last byte that was collected. */
  #last: number | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns `false` if the limit is exceeded. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#most) return false;
    this.#collected.add(chunk);
    this.#last = chunk.at(-1) ?? this.#last;
    return true;
  }

  /** How many bytes were written, including those beyond the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the collected bytes end with a line break. */
  get endsLine(): boolean {
    return this.#last === LINE_FEED;
  }

  /** As UTF-8; invalid bytes become U+FFFD. */
  toString(): string {
    return this.#collected.read().toString("utf8");
  }
}

/** `[… 12,345 bytes left out …]`, on a line of its own. */
export function leftOutNote(bytes: number): string {
  return `\n[… ${bytes.toLocaleString("en-US")} bytes left out …]\n`;
}

/** Returns bytes without the first ones of a character that was cut off. */
function wholeEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= MAX_CONTINUATION && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Returns bytes without the last ones of a character whose first one was cut off. */
export function wholeStart(bytes: Buffer): Buffer {
  let from = 0;
  while (from < MAX_CONTINUATION && from < bytes.length && isContinuation(bytes[from] as number)) from++;
  return bytes.subarray(from);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The bytes of a character, by its first one. */
function lengthOf(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/**
 * Charges the bytes that arrive through the streams of one call, and pauses reading while the memory does not
 * suffice.
 */
export class MeteredOutput {
  readonly #room: MemoryLease;
  readonly #most: number;
  /** The streams that wait for room. */
  readonly #paused = new Set<Readable>();
  #mayWait = true;

  /** @param most The most bytes that are collected from all streams. Further ones are not charged. */
  constructor(room: MemoryLease, most: number) {
    this.#room = room;
    this.#most = most;
  }

  /**
   * Charges the bytes of a stream that other code reads.
   *
   * @param onRefused Called if the memory will never suffice.
   */
  read(stream: Readable, onRefused: () => void): void {
    stream.on("data", (chunk: Buffer) => {
      const bytes = Math.min(chunk.length, this.#most - this.#room.bytes);
      if (bytes > 0 && this.#mayWait && !this.#room.take(bytes)) void this.#wait(stream, bytes, onRefused);
    });
  }

  async #wait(stream: Readable, bytes: number, onRefused: () => void): Promise<void> {
    stream.pause();
    this.#paused.add(stream);
    const hasRoom = await this.#room.wait(bytes);
    if (!this.#paused.delete(stream)) return;
    if (!hasRoom) onRefused();
    stream.resume();
  }

  get isWaiting(): boolean {
    return this.#paused.size > 0;
  }

  /** The text for the model if there was no memory. */
  get refusal(): string {
    return this.#room.refusal("the output");
  }

  /** Continues to read without room: the call is being stopped, and its output is not needed. */
  stopWaiting(): void {
    this.#mayWait = false;
    for (const stream of this.#paused) stream.resume();
    this.#paused.clear();
  }

  close(): void {
    this.stopWaiting();
    this.#room.close();
  }
}
