import { SuspensionError } from "../../contract/suspension-problem.ts";
import { DATA_END, HEAP_START, MIN_MEMORY_BYTES, PAGE_BYTES } from "../engine/engine-binary.ts";
import { BLOCK_BYTES, type SuspendedGuest } from "../engine/suspended-guest.ts";

/** Bytes of the size of the memory and the number of blocks, before them. */
const HEAD_BYTES = 8;

/** The most bytes that a guest can have as bytes, for a memory of this size. */
export function maxHeapBytes(memoryBytes: number): number {
  return HEAD_BYTES + memoryBytes + 4 * Math.ceil(memoryBytes / BLOCK_BYTES);
}

/** Compresses a guest that waits. The template from which it differs is the dictionary: most of a block is the same there. */
export async function compressGuest(guest: SuspendedGuest, template: Uint8Array): Promise<Uint8Array> {
  const { zstdCompress } = process.getBuiltinModule("node:zlib");
  const { memoryBytes, addresses, blocks } = guest;
  const bytes = Buffer.alloc(HEAD_BYTES + addresses.byteLength + blocks.length);
  bytes.writeUInt32LE(memoryBytes, 0);
  bytes.writeUInt32LE(addresses.length, 4);
  for (const [index, address] of addresses.entries()) bytes.writeUInt32LE(address, HEAD_BYTES + 4 * index);
  bytes.set(blocks, HEAD_BYTES + addresses.byteLength);
  return new Promise((resolve, reject) => {
    zstdCompress(bytes, { dictionary: template }, (error, compressed) => {
      // A copy: the buffer is a part of a larger one, which would stay as long as the call waits.
      if (error === null) resolve(Uint8Array.from(compressed));
      else reject(error);
    });
  });
}

/**
 * Decompresses a guest, and checks that it can be restored: every block is in the guest's own part of the memory.
 *
 * @param maxBytes The size up to which its memory can grow.
 * @throws {SuspensionError} as a rejection, if it cannot.
 */
export async function decompressGuest(
  compressed: Uint8Array,
  template: Uint8Array,
  maxBytes: number,
): Promise<SuspendedGuest> {
  const { zstdDecompress } = process.getBuiltinModule("node:zlib");
  const options = { dictionary: template, maxOutputLength: maxHeapBytes(maxBytes) };
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    zstdDecompress(compressed, options, (error, heap) => {
      if (error === null) resolve(heap);
      else reject(new SuspensionError("its heap cannot be decompressed"));
    });
  });
  return readGuest(bytes, maxBytes);
}

function readGuest(bytes: Buffer, maxBytes: number): SuspendedGuest {
  if (bytes.length < HEAD_BYTES) throw invalid();
  const memoryBytes = bytes.readUInt32LE(0);
  const count = bytes.readUInt32LE(4);
  if (memoryBytes < MIN_MEMORY_BYTES || memoryBytes > maxBytes || memoryBytes % PAGE_BYTES !== 0)
    throw invalid();
  const blocksAt = HEAD_BYTES + 4 * count;
  if (blocksAt > bytes.length) throw invalid();
  const addresses = new Uint32Array(count);
  for (let index = 0; index < count; index++) addresses[index] = bytes.readUInt32LE(HEAD_BYTES + 4 * index);
  checkAddresses(addresses, memoryBytes, bytes.length - blocksAt);
  // A copy, whose buffer can be transferred to a thread.
  return { memoryBytes, addresses, blocks: new Uint8Array(bytes.subarray(blocksAt)) };
}

/** Blocks are in order, at multiples of their size from the beginning of their region, and only the last of one is shorter. */
function checkAddresses(addresses: Uint32Array, memoryBytes: number, blockBytes: number): void {
  let previous = -1;
  let inData = 0;
  for (const address of addresses) {
    const isHeap = address >= HEAP_START;
    const offset = isHeap ? address - HEAP_START : address;
    if (address <= previous || offset % BLOCK_BYTES !== 0) throw invalid();
    if (address >= (isHeap ? memoryBytes : DATA_END)) throw invalid();
    if (!isHeap) inData += Math.min(BLOCK_BYTES, DATA_END - address);
    previous = address;
  }
  const inHeap = addresses.filter((address) => address >= HEAP_START).length;
  const heapBytes = blockBytes - inData;
  const isWhole = heapBytes === inHeap * BLOCK_BYTES;
  const isShorter = heapBytes < inHeap * BLOCK_BYTES && heapBytes > (inHeap - 1) * BLOCK_BYTES;
  if (!isWhole && !isShorter) throw invalid();
}

function invalid(): SuspensionError {
  return new SuspensionError("its heap is not valid");
}
