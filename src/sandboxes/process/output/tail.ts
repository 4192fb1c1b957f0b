/** The last bytes of what is written, up to a number of them. */
export class Tail {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #kept = 0;
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
    this.#chunks.push(last);
    this.#kept += last.length;
    // Copied only now and then.
    if (this.#kept > 2 * this.#most) this.#cut();
  }

  #cut(): void {
    const all = Buffer.concat(this.#chunks);
    const last = all.subarray(Math.max(all.length - this.#most, 0));
    this.#chunks = [last];
    this.#kept = last.length;
  }

  read(): Buffer {
    this.#cut();
    return this.#chunks[0] as Buffer;
  }
}
