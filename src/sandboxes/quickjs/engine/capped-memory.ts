import { PAGE_BYTES } from "./engine-binary.ts";

/** The most memory that a 32-bit engine can address. */
const MAX_MEMORY_BYTES = 2_147_483_648;

/**
 * A linear memory that cannot grow past its cap. The engine's own memory limit does not hold
 * (quickjs-emscripten issues 255 and 271); this one does, whatever the guest does. It remembers that it could
 * not grow: the engine reports that in too many ways to rely on any.
 */
export class CappedMemory extends WebAssembly.Memory {
  /** How often the guest wanted more than its cap. */
  refusals = 0;
  readonly #initialBytes: number;

  constructor(initialBytes: number, maxBytes: number) {
    super({
      initial: initialBytes / PAGE_BYTES,
      maximum: Math.floor(Math.min(maxBytes, MAX_MEMORY_BYTES) / PAGE_BYTES),
    });
    this.#initialBytes = initialBytes;
  }

  override grow(pages: number): number {
    try {
      return super.grow(pages);
    } catch (error) {
      this.refusals++;
      throw error;
    }
  }

  /** Whether the guest wanted more than its cap. */
  get refused(): boolean {
    return this.refusals > 0;
  }

  /** Bytes of linear memory, used or not. */
  get bytes(): number {
    return this.buffer.byteLength;
  }

  /** Whether it is as large as it was made. */
  get isPristine(): boolean {
    return !this.refused && this.bytes === this.#initialBytes;
  }
}
