import { createHash } from "node:crypto";
import { describeThrown } from "../../../base/thrown.ts";
import {
  type SuspendedTask,
  type SuspendedTemplate,
  SuspensionError,
  type TaskSuspension,
} from "../../contract/suspension.ts";
import { DATA_END, HEAP_START, MIN_MEMORY_BYTES, PAGE_BYTES } from "../engine/engine-binary.ts";
import {
  BLOCK_BYTES,
  releaseGuest,
  type Snapshot,
  type SuspendedGuest,
  sizeOf,
} from "../engine/suspended-guest.ts";

/** Bytes of the size of the memory and the number of blocks, before them. */
const HEAD_BYTES = 8;

/** What is suspended with a guest. */
export type SuspendedParts = Omit<SuspendedTask, "heap" | "template">;

/** The largest heap that is written, compressed: sealing and storing it blocks the event loop, a hundred MB for a second. */
const MAX_HEAP_BYTES = 8 * 1_024 * 1_024;

/** A guest that waits: in memory, and from {@link suspend} on as bytes, which outlive the process. */
export class WaitingGuest {
  readonly #suspension: TaskSuspension | undefined;
  readonly #template: () => TemplateBytes;
  readonly #maxBytes: number;
  /** Called with the bytes that it occupies, when they change. */
  readonly #onSize: (bytes: number) => void;
  #guest: SuspendedGuest | undefined;
  #heap: Uint8Array | undefined;
  #suspending: Promise<void> | undefined;
  #isDurable: boolean;

  /**
   * @param guest In memory, or as the bytes of an earlier process.
   * @param maxBytes The size up to which its memory can grow.
   */
  constructor(
    guest: SuspendedGuest | Uint8Array,
    suspension: TaskSuspension | undefined,
    template: () => TemplateBytes,
    maxBytes: number,
    onSize: (bytes: number) => void,
  ) {
    this.#suspension = suspension;
    this.#template = template;
    this.#maxBytes = maxBytes;
    this.#onSize = onSize;
    this.#isDurable = guest instanceof Uint8Array;
    if (guest instanceof Uint8Array) this.#heap = guest;
    else this.#guest = guest;
  }

  /** Whether it is durable. One that is being written says so after {@link written}. */
  get isDurable(): boolean {
    return this.#isDurable;
  }

  /**
   * Writes it, once. If that fails, it keeps waiting in memory, and the operator is warned.
   *
   * @param parts Returns what is written with it.
   */
  suspend(parts: () => SuspendedParts): Promise<void> {
    if (this.#suspension === undefined || this.#isDurable) return Promise.resolve();
    this.#suspending ??= this.#suspend(this.#suspension, parts).catch((thrown: unknown) => {
      process.emitWarning(`A waiting call could not be suspended: ${describeThrown(thrown).message}`, {
        code: "SANDGATE_NOT_SUSPENDED",
      });
    });
    return this.#suspending;
  }

  /** Waits until it is written, if that has begun. */
  async written(): Promise<void> {
    await this.#suspending;
  }

  async #suspend(suspension: TaskSuspension, parts: () => SuspendedParts): Promise<void> {
    const guest = this.#guest as SuspendedGuest;
    const template = this.#template();
    const written = parts();
    const heap = await compressGuest(guest, template.dictionary);
    if (heap.length > MAX_HEAP_BYTES) {
      const most = MAX_HEAP_BYTES / 1_024 / 1_024;
      throw new Error(
        `its heap takes ${heap.length} bytes compressed, and ${most} MiB is the most that is written`,
      );
    }
    await suspension.suspend({ ...written, heap, template: template.digest }, template);
    this.#isDurable = true;
    this.#heap = heap;
    this.#guest = undefined;
    releaseGuest(guest);
    this.#onSize(heap.length);
  }

  /**
   * Returns the guest, which continues now.
   *
   * @param staysStored Whether the stored state remains for now. Otherwise, it is never used again.
   * @throws as a rejection, if it must not continue.
   */
  async resume(staysStored: boolean): Promise<SuspendedGuest> {
    await this.#suspending;
    if (!this.#isDurable || this.#suspension === undefined || staysStored) {
      this.#guest ??= await this.#decompress();
      return this.#guest;
    }
    // Both at the same time: a store that syncs its disk takes as long as decompressing.
    const taking = this.#suspension.resume();
    const decompressing = this.#guest ?? this.#decompress();
    const [taken, guest] = await Promise.allSettled([taking, decompressing]);
    // The reason why it must not continue is more useful than a decompression error.
    if (taken.status === "rejected") throw taken.reason;
    if (guest.status === "rejected") throw guest.reason;
    this.#guest = guest.value;
    return guest.value;
  }

  #decompress(): Promise<SuspendedGuest> {
    return decompressGuest(this.#heap as Uint8Array, this.#template().dictionary, this.#maxBytes);
  }

  /** Releases what it occupies. */
  async release(): Promise<void> {
    await this.#suspending;
    if (this.#guest !== undefined) releaseGuest(this.#guest);
    this.#onSize(0);
  }
}

/** Bytes that a guest occupies. */
export function bytesOf(guest: SuspendedGuest | Uint8Array): number {
  return guest instanceof Uint8Array ? guest.length : sizeOf(guest);
}

/** Maximum number of bytes that a guest can have as bytes, for a memory of this size. */
function maxHeapBytes(memoryBytes: number): number {
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

/** Bytes before the anchor: the size of the memory, and the length of the anchor. */
const TEMPLATE_HEAD_BYTES = 8;

const MAX_ANCHOR_BYTES = 1_024;

/** A template as bytes: a copy of the snapshot that is not shared, and its digest. */
export interface TemplateBytes extends SuspendedTemplate {
  /** The snapshot's bytes: the dictionary of the guests that began from it. */
  readonly dictionary: Uint8Array;
}

const known = new WeakMap<Snapshot, TemplateBytes>();

/** Returns a template as bytes. */
export function templateBytes(snapshot: Snapshot): TemplateBytes {
  let bytes = known.get(snapshot);
  if (bytes === undefined) {
    bytes = write(snapshot);
    known.set(snapshot, bytes);
  }
  return bytes;
}

function write({ bytes, memoryBytes, anchor }: Snapshot): TemplateBytes {
  const name = Buffer.from(anchor);
  const dictionaryAt = TEMPLATE_HEAD_BYTES + name.length;
  const all = Buffer.alloc(dictionaryAt + bytes.byteLength);
  all.writeUInt32LE(memoryBytes, 0);
  all.writeUInt32LE(name.length, 4);
  all.set(name, TEMPLATE_HEAD_BYTES);
  all.set(new Uint8Array(bytes), dictionaryAt);
  return { digest: digestOf(all), bytes: () => all, dictionary: all.subarray(dictionaryAt) };
}

/**
 * Reads a template that was stored.
 *
 * @param digest That of the bytes.
 * @throws {SuspensionError} if the bytes are not those, or no template of this engine.
 */
export function readTemplate(stored: Uint8Array, digest: string): Snapshot {
  const bytes = Buffer.from(stored);
  if (digestOf(bytes) !== digest) throw new SuspensionError("its template was changed");
  const memoryBytes = bytes.length < TEMPLATE_HEAD_BYTES ? 0 : bytes.readUInt32LE(0);
  const anchorBytes = bytes.length < TEMPLATE_HEAD_BYTES ? 0 : bytes.readUInt32LE(4);
  const dictionaryAt = TEMPLATE_HEAD_BYTES + anchorBytes;
  const length = bytes.length - dictionaryAt;
  const isValid =
    anchorBytes <= MAX_ANCHOR_BYTES &&
    memoryBytes >= MIN_MEMORY_BYTES &&
    memoryBytes % PAGE_BYTES === 0 &&
    length >= DATA_END &&
    length - DATA_END <= memoryBytes - HEAP_START;
  if (!isValid) throw new SuspensionError("its template is not valid");
  const shared = new SharedArrayBuffer(length);
  new Uint8Array(shared).set(bytes.subarray(dictionaryAt));
  const anchor = bytes.toString("utf8", TEMPLATE_HEAD_BYTES, dictionaryAt);
  return { bytes: shared, memoryBytes, anchor };
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
