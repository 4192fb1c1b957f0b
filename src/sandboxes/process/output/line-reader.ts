import { StringDecoder } from "node:string_decoder";

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
