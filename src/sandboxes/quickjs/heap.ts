import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSWASMModule,
  RELEASE_SYNC,
} from "quickjs-emscripten";

const PAGE_BYTES = 65_536;

/** The least memory in which the engine runs: what its binary declares as its initial memory. */
export const MIN_MEMORY_BYTES: number = 256 * PAGE_BYTES;

/** The most memory that a 32-bit engine can address. */
const MAX_MEMORY_BYTES = 2_147_483_648;

/**
 * One instance of the engine, with a linear memory that cannot grow past its cap. The engine's own memory
 * limit does not hold (quickjs-emscripten issues 255 and 271); this one does, whatever the guest does.
 */
export class Heap {
  readonly engine: QuickJSWASMModule;
  readonly maxBytes: number;
  readonly #memory: CappedMemory;

  private constructor(engine: QuickJSWASMModule, memory: CappedMemory, maxBytes: number) {
    this.engine = engine;
    this.#memory = memory;
    this.maxBytes = maxBytes;
  }

  /** Makes an instance; `maxBytes` is at least {@link MIN_MEMORY_BYTES}. */
  static async create(maxBytes: number): Promise<Heap> {
    const pages = Math.floor(Math.min(maxBytes, MAX_MEMORY_BYTES) / PAGE_BYTES);
    const memory = new CappedMemory({ initial: MIN_MEMORY_BYTES / PAGE_BYTES, maximum: pages });
    const variant = newVariant(RELEASE_SYNC, {
      wasmModule: await engineModule(),
      wasmMemory: memory,
      emscriptenModule: QUIET,
    });
    return new Heap(await newQuickJSWASMModuleFromVariant(variant), memory, maxBytes);
  }

  /** Bytes of linear memory, used or not. */
  get bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Whether the guest wanted more than its cap. */
  get hitCap(): boolean {
    return this.#memory.refused;
  }

  /** Whether it still is as it was made: memory that grew never shrinks, so such an instance is replaced. */
  get isPristine(): boolean {
    return !this.hitCap && this.bytes === MIN_MEMORY_BYTES;
  }
}

/** Remembers that it could not grow: the engine reports that in too many ways to rely on any. */
class CappedMemory extends WebAssembly.Memory {
  refused = false;

  override grow(pages: number): number {
    try {
      return super.grow(pages);
    } catch (error) {
      this.refused = true;
      throw error;
    }
  }
}

/** What the engine says when it breaks is in the error; nobody asked for it on the console. */
const QUIET: object = { printErr: () => {} };

let compiled: Promise<WebAssembly.Module> | undefined;

/** The engine's binary, compiled once for each thread. */
function engineModule(): Promise<WebAssembly.Module> {
  compiled ??= compileEngine();
  return compiled;
}

async function compileEngine(): Promise<WebAssembly.Module> {
  // The binary belongs to a package of quickjs-emscripten's, which is looked up from there.
  const library = createRequire(createRequire(import.meta.url).resolve("quickjs-emscripten"));
  return WebAssembly.compile(await readFile(library.resolve("@jitl/quickjs-wasmfile-release-sync/wasm")));
}
