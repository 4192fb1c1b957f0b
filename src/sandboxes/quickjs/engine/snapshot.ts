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

/** Returns where the heap in a memory ends. The memory above has never been used. */
export function heapEnd(memory: Uint8Array): number {
  const byte = (index: number): number => memory[HEAP_END_CELL + index] ?? 0;
  const end = (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
  // The guest may have overwritten the cell, so the result is kept within the memory.
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
 * @param usedEnd The end of the heap that was used before. The heap above the snapshot is zeroed up to there, and so
 *   is the stack. If `undefined`, both keep their content, which a guest could read only through a bug in the engine.
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

/** The parts of a snapshot that are copied for each call. */
export interface SnapshotParts {
  /** The static data, which begins at address 0. */
  readonly data: Uint8Array;
  readonly heap: Uint8Array;
  /** Whether this is the thread's own copy. */
  readonly isOwn: boolean;
}

/** The largest snapshot of which a thread makes its own copy. */
const MAX_OWN_BYTES = 512 * 1_024;

const known = new WeakMap<Snapshot, SnapshotParts>();

/**
 * Returns the parts of a snapshot. Copying from shared memory takes 50% longer, so the thread makes its own copy when
 * it uses a snapshot for the second time.
 */
export function partsOf(snapshot: Snapshot): SnapshotParts {
  const parts = known.get(snapshot);
  if (parts?.isOwn) return parts;
  const shared = new Uint8Array(snapshot.bytes);
  const isOwn = parts !== undefined && shared.length <= MAX_OWN_BYTES;
  const bytes = isOwn ? shared.slice() : shared;
  const made: SnapshotParts = { data: bytes.subarray(0, DATA_END), heap: bytes.subarray(DATA_END), isOwn };
  known.set(snapshot, made);
  return made;
}
