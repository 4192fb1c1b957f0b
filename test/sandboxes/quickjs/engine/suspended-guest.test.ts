import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DATA_END,
  HEAP_END_CELL,
  HEAP_START,
  MIN_MEMORY_BYTES,
} from "../../../../src/sandboxes/quickjs/engine/engine-binary.ts";
import {
  resumeGuestIn,
  sizeOf,
  suspendGuest,
  takeSnapshot,
} from "../../../../src/sandboxes/quickjs/engine/suspended-guest.ts";

const PAGE_BYTES = 65_536;

function memoryWithHeap(heapBytes: number, bytes = MIN_MEMORY_BYTES): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial: bytes / PAGE_BYTES, maximum: 1_024 });
  setHeap(memory, heapBytes);
  return memory;
}

function setHeap(memory: WebAssembly.Memory, heapBytes: number): void {
  new DataView(memory.buffer).setUint32(HEAP_END_CELL, HEAP_START + heapBytes, true);
}

/** The part of the memory that a guest uses: the data, and the heap up to its end. */
function visible(memory: WebAssembly.Memory, heapBytes: number): Buffer {
  const data = Buffer.from(memory.buffer, 0, DATA_END);
  return Buffer.concat([data, Buffer.from(memory.buffer, HEAP_START, heapBytes)]);
}

const heapSize = fc.integer({ min: 0, max: 16_384 }).map((words) => words * 8);
const writes = fc.array(
  fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }), inData: fc.boolean() }),
  { maxLength: 20 },
);

describe("a suspended guest", () => {
  test("a suspended guest resumes unchanged in any memory, wherever it wrote and however it grew", () => {
    fc.assert(
      fc.property(
        heapSize,
        heapSize,
        writes,
        writes,
        fc.nat({ max: 3 }),
        (before, more, early, late, pages) => {
          const first = memoryWithHeap(before);
          const write = (memory: WebAssembly.Memory, heap: number, all: typeof early): void => {
            for (const { at, bytes, inData } of all) {
              const [start, size] = inData ? [0, HEAP_END_CELL] : [HEAP_START, heap];
              if (size > bytes.length)
                new Uint8Array(memory.buffer).set(bytes, start + (at % (size - bytes.length)));
            }
          };
          write(first, before, early);
          const template = takeSnapshot(first, "anchor");
          const heap = before + more;
          if (pages > 0) first.grow(pages);
          setHeap(first, heap);
          write(first, heap, late);
          const guest = suspendGuest(first, template);

          const second = memoryWithHeap(before, MIN_MEMORY_BYTES + pages * PAGE_BYTES);
          new Uint8Array(second.buffer).fill(0xaa);
          setHeap(second, before);
          resumeGuestIn(new Uint8Array(second.buffer), template, guest, undefined);
          return visible(second, heap).equals(visible(first, heap));
        },
      ),
      { numRuns: 100 },
    );
  });

  test("a suspended guest holds only the differences from its template", () => {
    const memory = memoryWithHeap(400_000);
    new Uint8Array(memory.buffer).fill(1, HEAP_START, HEAP_START + 400_000);
    const template = takeSnapshot(memory, "anchor");
    expect(sizeOf(suspendGuest(memory, template))).toBe(0);
    new Uint8Array(memory.buffer)[HEAP_START + 1_000] = 2;
    expect(sizeOf(suspendGuest(memory, template))).toBe(256 + 4);
  });
});
