import { randomFillSync } from "node:crypto";

/** How many bytes are drawn at once: asking the system costs as much as a small call. */
const DRAWN_BYTES = 4_096;

/** Random bytes, 8 at a time; none is given twice. */
export class RandomSupply {
  readonly #drawn: Uint8Array = new Uint8Array(DRAWN_BYTES);
  #at = DRAWN_BYTES;

  next(): Uint8Array {
    if (this.#at === DRAWN_BYTES) {
      randomFillSync(this.#drawn);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#drawn.subarray(this.#at - 8, this.#at);
  }
}
