import type {
  JSContextPointer,
  JSValueConstPointerPointer,
  JSValuePointer,
  QuickJSFFI,
} from "quickjs-emscripten";
import type { CappedMemory } from "./capped-memory.ts";

/** The parts of an engine instance that are needed to call functions in it. */
export interface EngineInterface {
  readonly ffi: QuickJSFFI;
  readonly context: JSContextPointer;
  /** The engine's `undefined`. */
  readonly undefined: JSValuePointer;
  readonly memory: CappedMemory;
  readonly malloc: (bytes: number) => number;
  readonly free: (address: number) => void;
}

/** The most arguments that a function of the driver takes. */
const MAX_TEXTS = 4;

/**
 * Calls the driver's functions, which take strings and return one. The library would create a handle for each value,
 * allocate memory for each list and copy strings character by character, which takes twice as long for a small call
 * and far longer for a long string. Values are not freed: restoring the next snapshot overwrites them.
 */
export class DriverCalls {
  readonly #engine: EngineInterface;
  /** The address of the list of arguments. The same in every instance. */
  readonly argumentsAt: number;
  #heap: Buffer;

  constructor(engine: EngineInterface) {
    this.#engine = engine;
    this.argumentsAt = engine.malloc(MAX_TEXTS * 4);
    this.#heap = Buffer.from(engine.memory.buffer);
  }

  /**
   * Calls a function.
   *
   * @returns the function's result; `undefined` if it threw, which it does only when interrupted or out of memory.
   * @throws {WebAssembly.RuntimeError} if there is no memory for the strings. The instance must not be used again.
   */
  call(method: JSValuePointer, texts: readonly string[]): string | undefined {
    const { ffi, context, undefined: self, memory, free } = this.#engine;
    const { refusals } = memory;
    for (const [index, text] of texts.entries()) {
      const place = this.#write(text);
      const value = ffi.QTS_NewString(context, place as Parameters<QuickJSFFI["QTS_NewString"]>[1]);
      // Without memory for the value itself, the engine writes it to address 0.
      if (memory.refusals > refusals) throw new WebAssembly.RuntimeError(NO_MEMORY);
      free(place);
      this.#current.writeUInt32LE(value, this.argumentsAt + index * 4);
    }
    const result = ffi.QTS_Call(
      context,
      method,
      self,
      texts.length,
      this.argumentsAt as JSValueConstPointerPointer,
    );
    if (ffi.QTS_ResolveException(context, result) !== 0) return undefined;
    return this.#read(ffi.QTS_GetString(context, result));
  }

  /** Writes a C string. */
  #write(text: string): number {
    const size = Buffer.byteLength(text);
    const place = this.#engine.malloc(size + 1);
    if (place === 0) throw new WebAssembly.RuntimeError(NO_MEMORY);
    const heap = this.#current;
    heap.write(text, place, size);
    heap[place + size] = 0;
    return place;
  }

  #read(place: number): string {
    if (place === 0) throw new WebAssembly.RuntimeError(NO_MEMORY);
    const heap = this.#current;
    return heap.toString("utf8", place, heap.indexOf(0, place));
  }

  /** The current buffer of the memory: growing replaces it. */
  get #current(): Buffer {
    const { buffer } = this.#engine.memory;
    if (this.#heap.buffer !== buffer) this.#heap = Buffer.from(buffer);
    return this.#heap;
  }
}

const NO_MEMORY = "the engine could not allocate a string";
