import type { CompiledCore } from "../artifact.ts";
import { globalExportName, memoryExportName } from "../core-module/core-limits.ts";

/** Memory is compared with zeros in parts of this many bytes. */
const PART_BYTES = 4_096;
const ZEROS = new Uint8Array(PART_BYTES);

interface MemoryImage {
  readonly memory: WebAssembly.Memory;
  readonly byteLength: number;
  /** The parts that are not all zeros, in order. */
  readonly parts: readonly { readonly at: number; readonly bytes: Uint8Array }[];
}

interface GlobalImage {
  readonly global: WebAssembly.Global;
  readonly value: number | bigint;
}

/** A copy of everything that the code of core instances can change: their memories and globals. */
export class InstanceImage {
  readonly #memories: MemoryImage[] = [];
  readonly #globals: GlobalImage[] = [];
  #isExact = true;

  /** Adds a core instance in its current state. None of its functions may be running. */
  add({ exports }: WebAssembly.Instance, { memories, globals }: CompiledCore): void {
    for (const index of memories.keys()) {
      const memory = exports[memoryExportName(index)] as WebAssembly.Memory;
      this.#memories.push({ memory, byteLength: memory.buffer.byteLength, parts: usedParts(memory) });
    }
    for (const index of globals) {
      const global = exports[globalExportName(index)] as WebAssembly.Global<"i32" | "i64">;
      const { value } = global;
      // JavaScript cannot see the bits of a NaN.
      if (Number.isNaN(value)) this.#isExact = false;
      this.#globals.push({ global, value });
    }
  }

  /** Restores everything. Returns `false` if that is impossible because a memory has grown, as memories cannot shrink. */
  restore(): boolean {
    if (!this.#isExact) return false;
    if (this.#memories.some(({ memory, byteLength }) => memory.buffer.byteLength !== byteLength))
      return false;
    for (const { memory, parts } of this.#memories) {
      const all = new Uint8Array(memory.buffer);
      let end = 0;
      for (const { at, bytes } of parts) {
        all.fill(0, end, at);
        all.set(bytes, at);
        end = at + bytes.length;
      }
      all.fill(0, end);
    }
    for (const { global, value } of this.#globals) global.value = value;
    return true;
  }
}

function usedParts({ buffer }: WebAssembly.Memory): MemoryImage["parts"] {
  const parts: { at: number; bytes: Uint8Array }[] = [];
  for (let at = 0; at < buffer.byteLength; at += PART_BYTES) {
    if (Buffer.compare(ZEROS, new Uint8Array(buffer, at, PART_BYTES)) === 0) continue;
    parts.push({ at, bytes: new Uint8Array(buffer.slice(at, at + PART_BYTES)) });
  }
  return parts;
}
