import { DATA_END, HEAP_END_CELL, HEAP_START, STACK_TOP } from "./engine-binary.ts";

/**
 * Everything that a guest at rest is made of. No function of the engine is running, so its stack is empty, and
 * its only other state is the linear memory: static data and heap. Any instance of the engine can go on from it.
 */
export interface Snapshot {
  /** The static data, and the heap behind it. Shared, and never written again. */
  readonly bytes: SharedArrayBuffer;
  /** The size of the linear memory. */
  readonly memoryBytes: number;
  /** Where an instance holds what its host refers to: the same in every instance that can go on from this. */
  readonly anchor: string;
  /** Whether the guest can be granted something of the world outside. What it is granted, each call tells. */
  readonly hasExternalAccess: boolean;
}

/** Where the heap in a memory ends: everything above has never been touched. */
export function heapEnd(memory: Uint8Array): number {
  const byte = (index: number): number => memory[HEAP_END_CELL + index] ?? 0;
  const end = (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
  // The guest's memory is the guest's: whatever it holds, the answer lies within it.
  return Math.min(Math.max(end, HEAP_START), memory.length);
}

/** Takes a snapshot of a memory in which no function of the engine is running. */
export function takeSnapshot(
  memory: WebAssembly.Memory,
  anchor: string,
  hasExternalAccess: boolean,
): Snapshot {
  const all = new Uint8Array(memory.buffer);
  const heap = all.subarray(HEAP_START, heapEnd(all));
  const bytes = new SharedArrayBuffer(DATA_END + heap.length);
  const copy = new Uint8Array(bytes);
  copy.set(all.subarray(0, DATA_END), 0);
  copy.set(heap, DATA_END);
  return { bytes, memoryBytes: memory.buffer.byteLength, anchor, hasExternalAccess };
}

/**
 * Brings a memory of the same size back to a snapshot.
 *
 * @param usedEnd The end of what was ever used of the heap: what lies above the snapshot is zeroed up to there,
 *   and the stack too. `undefined` leaves both as they are: the guest cannot tell, but for a fault in the engine.
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

/** What is copied for each call. */
interface Parts {
  readonly data: Uint8Array;
  readonly heap: Uint8Array;
  /** Whether it is a copy that no other thread shares. */
  readonly isOwn: boolean;
}

/** A larger snapshot is not copied again for this thread. */
const MAX_OWN_BYTES = 512 * 1_024;

const known = new WeakMap<Snapshot, Parts>();

/** Copying out of memory that threads share takes half as long again: what is used more than once gets a copy. */
function partsOf(snapshot: Snapshot): Parts {
  const parts = known.get(snapshot);
  if (parts?.isOwn) return parts;
  const shared = new Uint8Array(snapshot.bytes);
  const isOwn = parts !== undefined && shared.length <= MAX_OWN_BYTES;
  const bytes = isOwn ? shared.slice() : shared;
  const made: Parts = { data: bytes.subarray(0, DATA_END), heap: bytes.subarray(DATA_END), isOwn };
  known.set(snapshot, made);
  return made;
}
