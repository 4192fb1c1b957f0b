/** A line longer than this is handed on in pieces, in UTF-16 code units. */
const MAX_LINE_LENGTH = 8_192;

/** Cuts a stream of UTF-8 bytes into lines; empty ones are left out. */
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

  /** Hands on what has no line end yet. */
  end(): void {
    if (this.#line !== "") this.#onLine(this.#line);
    this.#line = "";
  }
}
