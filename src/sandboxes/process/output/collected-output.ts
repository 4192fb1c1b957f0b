import { StringDecoder } from "node:string_decoder";
import { CollectedBytes } from "../../../base/collected-bytes.ts";

/** The longest line that is kept whole, in UTF-16 code units. */
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
  readonly #kept = new CollectedBytes();
  readonly #most: number;
  #bytes = 0;
  /** The last byte that was retained. */
  #last: number | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns `false` if there are more bytes than may be. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#most) return false;
    this.#kept.add(chunk);
    this.#last = chunk.at(-1) ?? this.#last;
    return true;
  }

  /** How many bytes were written, also beyond the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a line break is the last that was retained. */
  get endsLine(): boolean {
    return this.#last === LINE_FEED;
  }

  /** As UTF-8; invalid bytes become U+FFFD. */
  toString(): string {
    return this.#kept.read().toString("utf8");
  }
}
