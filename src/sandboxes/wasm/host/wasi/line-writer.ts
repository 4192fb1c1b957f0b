/** The length in UTF-16 code units from which a line is split. */
const MAX_LINE_LENGTH = 8_192;

/** Splits a stream of UTF-8 bytes into lines, and skips empty ones. */
export class LineWriter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(bytes: Uint8Array): void {
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) if (line !== "") this.#onLine(line);
    if (this.#line.length > MAX_LINE_LENGTH) this.end();
  }

  /** Emits the last line if it does not end with a newline. */
  end(): void {
    if (this.#line !== "") this.#onLine(this.#line);
    this.#line = "";
  }
}
