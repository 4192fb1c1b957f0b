import { DATA_END, HEAP_END_CELL, HEAP_START, STACK_TOP } from "./engine-binary.ts";

/**
 * The complete state of a guest while no function of the engine runs. The engine's stack is then empty, so the state
 * is the linear memory: static data and heap. It can be restored in any instance with the same anchor.
 */
export interface Snapshot {
  /** The static data, followed by the heap. Shared between threads, and never modified. */
  readonly bytes: SharedArrayBuffer;
  /** The size of the linear memory. */
  readonly memoryBytes: number;
  /** The addresses of the objects that the host refers to. Only instances with the same ones can restore it. */
  readonly anchor: string;
}

/** The parts of a snapshot that are copied for each call. */
interface SnapshotParts {
  /** The static data, which begins at address 0. */
  readonly data: Uint8Array;
  readonly heap: Uint8Array;
  /** Whether this is the thread's own copy. */
  readonly isOwn: boolean;
}

/** The largest snapshot of which a thread makes its own copy. */
const MAX_OWN_BYTES = 512 * 1_024;

const known = new WeakMap<Snapshot, SnapshotParts>();

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
  /** The blocks, one after the other. The last one of a region may be shorter. */
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

/** Returns where the heap in a memory ends. The memory above has never been used. */
export function heapEnd(memory: Uint8Array): number {
  const byte = (index: number): number => memory[HEAP_END_CELL + index] ?? 0;
  const end = (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
  // The guest may have overwritten the cell, so the result is clamped to the memory.
  return Math.min(Math.max(end, HEAP_START), memory.length);
}

/** Takes a snapshot of a memory in which no function of the engine is running. */
export function takeSnapshot(memory: WebAssembly.Memory, anchor: string): Snapshot {
  const all = new Uint8Array(memory.buffer);
  const heap = all.subarray(HEAP_START, heapEnd(all));
  const bytes = new SharedArrayBuffer(DATA_END + heap.length);
  const copy = new Uint8Array(bytes);
  copy.set(all.subarray(0, DATA_END), 0);
  copy.set(heap, DATA_END);
  return { bytes, memoryBytes: memory.buffer.byteLength, anchor };
}

/**
 * Restores a snapshot in a memory of the same size.
 *
 * @param usedEnd The end of the heap that was used before. The heap above the snapshot is zeroed up to there,
 *   and so is the stack. If `undefined`, both are not zeroed, and have content which a guest could read only
 *   through a bug in the engine.
 */
export function restoreSnapshot(memory: Uint8Array, snapshot: Snapshot, usedEnd: number | undefined): void {
  const { data, heap } = partsOf(snapshot);
  memory.set(data, 0);
  memory.set(heap, HEAP_START);
  if (usedEnd === undefined) return;
  memory.fill(0, DATA_END, STACK_TOP);
  const end = HEAP_START + heap.length;
  if (usedEnd > end) memory.fill(0, end, usedEnd);
}

/**
 * Returns the parts of a snapshot. Copying from shared memory takes 50% longer, so the thread makes its own copy when
 * it uses a snapshot for the second time.
 */
function partsOf(snapshot: Snapshot): SnapshotParts {
  const parts = known.get(snapshot);
  if (parts?.isOwn) return parts;
  const shared = new Uint8Array(snapshot.bytes);
  const isOwn = parts !== undefined && shared.length <= MAX_OWN_BYTES;
  const bytes = isOwn ? shared.slice() : shared;
  const made: SnapshotParts = { data: bytes.subarray(0, DATA_END), heap: bytes.subarray(DATA_END), isOwn };
  known.set(snapshot, made);
  return made;
}
