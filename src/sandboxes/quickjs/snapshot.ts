import { DATA_END, HEAP_END_CELL, HEAP_START, STACK_TOP } from "./engine-build.ts";

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
  readonly hasOutside: boolean;
}

/** Where the heap in a memory ends: everything above has never been touched. */
export function heapEnd(memory: WebAssembly.Memory): number {
  const end = new DataView(memory.buffer).getUint32(HEAP_END_CELL, true);
  // The guest's memory is the guest's: whatever it holds, the answer lies within it.
  return Math.min(Math.max(end, HEAP_START), memory.buffer.byteLength);
}

/** Takes a snapshot of a memory in which no function of the engine is running. */
export function takeSnapshot(memory: WebAssembly.Memory, anchor: string, hasOutside: boolean): Snapshot {
  const all = new Uint8Array(memory.buffer);
  const heap = all.subarray(HEAP_START, heapEnd(memory));
  const bytes = new SharedArrayBuffer(DATA_END + heap.length);
  const copy = new Uint8Array(bytes);
  copy.set(all.subarray(0, DATA_END), 0);
  copy.set(heap, DATA_END);
  return { bytes, memoryBytes: memory.buffer.byteLength, anchor, hasOutside };
}

/**
 * Brings a memory of the same size back to a snapshot.
 *
 * @param usedEnd The end of what was ever used of the heap: what lies above the snapshot is zeroed up to there,
 *   and the stack too. `undefined` leaves both as they are: the guest cannot tell, but for a fault in the engine.
 */
export function restoreSnapshot(
  memory: WebAssembly.Memory,
  { bytes }: Snapshot,
  usedEnd: number | undefined,
): void {
  const all = new Uint8Array(memory.buffer);
  const saved = new Uint8Array(bytes);
  all.set(saved.subarray(0, DATA_END), 0);
  all.set(saved.subarray(DATA_END), HEAP_START);
  if (usedEnd === undefined) return;
  all.fill(0, DATA_END, STACK_TOP);
  const end = HEAP_START + saved.length - DATA_END;
  if (usedEnd > end) all.fill(0, end, usedEnd);
}
