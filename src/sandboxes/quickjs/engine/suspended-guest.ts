import { DATA_END, HEAP_START } from "./engine-binary.ts";
import { heapEnd, partsOf, restoreSnapshot, type Snapshot } from "./snapshot.ts";

/** Bytes of the blocks in which a guest is compared with its template. */
export const BLOCK_BYTES = 256;
const BLOCK_WORDS = BLOCK_BYTES / 4;

/**
 * A guest that waits for replies, as the differences between its memory and the template that its call started from.
 * Most guests change a few tens of KiB of a heap of several hundred. Plain data that can be sent to another thread.
 */
export interface SuspendedGuest {
  /** The size of the linear memory, which may have grown. */
  readonly memoryBytes: number;
  /** The addresses of the blocks that differ, in order. */
  readonly addresses: Uint32Array;
  /** The blocks, one after the other. The last one of a region may be shorter than the others. */
  readonly blocks: Uint8Array;
}

/** Bytes that a suspended guest occupies. */
export function sizeOf({ addresses, blocks }: SuspendedGuest): number {
  return addresses.byteLength + blocks.byteLength;
}

/** The buffers of a suspended guest. */
export function buffersOf({ addresses, blocks }: SuspendedGuest): readonly ArrayBuffer[] {
  return [addresses.buffer, blocks.buffer] as readonly ArrayBuffer[];
}

/** Releases the memory of a suspended guest. It would otherwise stay until V8 collects its garbage. */
export function releaseGuest(guest: SuspendedGuest): void {
  for (const buffer of buffersOf(guest)) if (!buffer.detached) buffer.transfer(0);
}

/** Collects the differences from a template. No function of the engine may be running in the memory. */
export function suspendGuest(memory: WebAssembly.Memory, template: Snapshot): SuspendedGuest {
  const all = new Uint8Array(memory.buffer);
  const { data, heap } = partsOf(template);
  const changes = new Changes(all);
  changes.compare(0, DATA_END, data);
  changes.compare(HEAP_START, heapEnd(all), heap);
  return { memoryBytes: all.byteLength, ...changes.take() };
}

/**
 * Restores a suspended guest in a memory of the same size.
 *
 * @param usedEnd As for {@link restoreSnapshot}.
 */
export function resumeGuestIn(
  memory: Uint8Array,
  template: Snapshot,
  { addresses, blocks }: SuspendedGuest,
  usedEnd: number | undefined,
): void {
  restoreSnapshot(memory, template, usedEnd);
  const { data, heap } = partsOf(template);
  let offset = 0;
  const apply = (end: number, index: number): void => {
    const address = addresses[index] as number;
    const length = Math.min(BLOCK_BYTES, end - address);
    memory.set(blocks.subarray(offset, offset + length), address);
    offset += length;
  };
  const heapBlocks = addresses.findIndex((address) => address >= HEAP_START);
  const dataBlocks = heapBlocks < 0 ? addresses.length : heapBlocks;
  for (let index = 0; index < dataBlocks; index++) apply(data.length, index);
  // The static data, with the end of the heap, is restored now. Heap above the template's is zero unless it changed.
  const end = heapEnd(memory);
  if (end > HEAP_START + heap.length) memory.fill(0, HEAP_START + heap.length, end);
  for (let index = dataBlocks; index < addresses.length; index++) apply(end, index);
}

/** Collects the blocks of a memory that differ from a template. */
class Changes {
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #addresses: number[] = [];
  #total = 0;
  readonly #lengths: number[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));
  }

  /** Compares a region with the template's bytes, and beyond their end with zeros. Both are aligned to words. */
  compare(start: number, end: number, template: Uint8Array): void {
    const before = new Int32Array(template.buffer, template.byteOffset, Math.floor(template.byteLength / 4));
    for (let address = start; address < end; address += BLOCK_BYTES) {
      const length = Math.min(BLOCK_BYTES, end - address);
      if (this.#isEqual(address / 4, before, (address - start) / 4, length)) continue;
      this.#addresses.push(address);
      this.#lengths.push(length);
      this.#total += length;
    }
  }

  #isEqual(word: number, before: Int32Array, from: number, length: number): boolean {
    // An incomplete last word is compared as a whole: at worst, an unchanged block is retained.
    const words = length === BLOCK_BYTES ? BLOCK_WORDS : Math.ceil(length / 4);
    for (let i = 0; i < words; i++) {
      if (this.#words[word + i] !== (before[from + i] ?? 0)) return false;
    }
    return true;
  }

  take(): Pick<SuspendedGuest, "addresses" | "blocks"> {
    const blocks = new Uint8Array(this.#total);
    let offset = 0;
    for (const [index, address] of this.#addresses.entries()) {
      const length = this.#lengths[index] as number;
      blocks.set(this.#bytes.subarray(address, address + length), offset);
      offset += length;
    }
    return { addresses: Uint32Array.from(this.#addresses), blocks };
  }
}
