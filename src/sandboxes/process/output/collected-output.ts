const LINE_FEED = 0x0a;

/** The bytes that a program wrote, up to a limit. */
export class CollectedOutput {
  readonly #chunks: Buffer[] = [];
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns `false` if there are more bytes than may be. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#most) return false;
    this.#chunks.push(chunk);
    return true;
  }

  /** How many bytes were written, also beyond the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a line break is the last that was kept. */
  get endsLine(): boolean {
    return this.#chunks.at(-1)?.at(-1) === LINE_FEED;
  }

  /** As UTF-8; invalid bytes become U+FFFD. */
  toString(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
