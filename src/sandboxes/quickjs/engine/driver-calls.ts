import type {
  JSContextPointer,
  JSValueConstPointerPointer,
  JSValuePointer,
  QuickJSFFI,
} from "quickjs-emscripten";

import { PAGE_BYTES } from "./engine-binary.ts";

/** The functions that the engine calls while a guest runs. */
export interface GuestHost {
  /** Called about every 10,000 steps of the guest; `true` interrupts it. */
  isOver(): boolean;
  /** The guest's clock: milliseconds since the epoch. */
  now(): number;
  /**
   * Receives a message of the guest, and returns the reply, if there is one. Must not throw.
   *
   * @param bytes The bytes beside the text; absent if there are none.
   */
  receive(text: string, bytes?: Uint8Array): string | Uint8Array | undefined;
  /** Returns the name of a module that another one imports. Must not throw: the engine would ignore the error. */
  resolveModule(importer: string, specifier: string): string;
  /** Returns the source of a module; throws if it does not exist. */
  loadModule(name: string): string;
}

/** The host of an instance that has no guest yet. */
export const NO_HOST: GuestHost = {
  isOver: () => false,
  now: () => Date.now(),
  receive: () => undefined,
  resolveModule: (_importer, specifier) => specifier,
  loadModule: () => {
    throw new Error("imports are not available before a tool is loaded");
  },
};

/** Maximum memory that a 32-bit engine can address. */
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

/** Maximum number of arguments that a function of the driver takes. */
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
