import { PAGE_BYTES } from "./engine-binary.ts";

/** The most memory that a 32-bit engine can address. */
const MAX_MEMORY_BYTES = 2_147_483_648;

/**
 * A linear memory that cannot grow beyond its cap. The engine's own memory limit can be exceeded
 * (quickjs-emscripten issues 255 and 271). It also records refused growth, which the engine reports in too many
 * different ways to rely on.
 */
export class CappedMemory extends WebAssembly.Memory {
  /** How often the guest tried to exceed its cap. */
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

  /** Whether the guest tried to exceed its cap. */
  get refused(): boolean {
    return this.refusals > 0;
  }

  /** The size of the linear memory in bytes, used or not. */
  get bytes(): number {
    return this.buffer.byteLength;
  }

  /** Whether it still has its initial size, and never refused to grow. */
  get isPristine(): boolean {
    return !this.refused && this.bytes === this.#initialBytes;
  }
}
