import { createHash } from "node:crypto";
import { type SuspendedTemplate, SuspensionError } from "../../contract/suspension.ts";
import { DATA_END, HEAP_START, MIN_MEMORY_BYTES, PAGE_BYTES } from "../engine/engine-binary.ts";
import type { Snapshot } from "../engine/suspended-guest.ts";

/** Bytes before the anchor: the size of the memory, and the length of the anchor. */
const HEAD_BYTES = 8;
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
  const dictionaryAt = HEAD_BYTES + name.length;
  const all = Buffer.alloc(dictionaryAt + bytes.byteLength);
  all.writeUInt32LE(memoryBytes, 0);
  all.writeUInt32LE(name.length, 4);
  all.set(name, HEAD_BYTES);
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
  const memoryBytes = bytes.length < HEAD_BYTES ? 0 : bytes.readUInt32LE(0);
  const anchorBytes = bytes.length < HEAD_BYTES ? 0 : bytes.readUInt32LE(4);
  const dictionaryAt = HEAD_BYTES + anchorBytes;
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
  const anchor = bytes.toString("utf8", HEAD_BYTES, dictionaryAt);
  return { bytes: shared, memoryBytes, anchor };
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
