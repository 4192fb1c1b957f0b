import type {
  JSContextPointer,
  JSValueConstPointerPointer,
  JSValuePointer,
  QuickJSFFI,
} from "quickjs-emscripten";
import type { CappedMemory } from "./capped-memory.ts";

/** What of an instance of the engine is needed to call functions in it. */
export interface EngineInterface {
  readonly ffi: QuickJSFFI;
  readonly context: JSContextPointer;
  /** The engine's `undefined`. */
  readonly undefined: JSValuePointer;
  readonly memory: CappedMemory;
  readonly malloc: (bytes: number) => number;
  readonly free: (address: number) => void;
}

/** The most texts that a function of the driver takes. */
const MAX_TEXTS = 4;

/**
 * Calls the driver's functions, which take texts and give one. The library does the same with a handle for each
 * value, a block of memory for each list and a step for each character: twice as long for a small call, and far
 * longer for a large text. Values are not freed: the next snapshot takes the place of it all.
 */
export class DriverCalls {
  readonly #engine: EngineInterface;
  /** Where the arguments' addresses are written. The same in every instance. */
  readonly argumentsAt: number;
  #heap: Buffer;

  constructor(engine: EngineInterface) {
    this.#engine = engine;
    this.argumentsAt = engine.malloc(MAX_TEXTS * 4);
    this.#heap = Buffer.from(engine.memory.buffer);
  }

  /**
   * @returns what the function says; `undefined` when it was interrupted, or out of memory: it throws nothing else.
   * @throws {WebAssembly.RuntimeError} when there is no memory for the texts: nothing in the instance can be trusted
   *   any more.
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

  /** Writes a text as a C string. */
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

  /** The memory as it is now: one that grows gets a new buffer. */
  get #current(): Buffer {
    const { buffer } = this.#engine.memory;
    if (this.#heap.buffer !== buffer) this.#heap = Buffer.from(buffer);
    return this.#heap;
  }
}

const NO_MEMORY = "the engine has no memory for a text";
