import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

/** How many bytes are copied or hashed in one turn of the event loop. That takes about a millisecond. */
const SLICE_BYTES = 1_024 * 1_024;

/**
 * Calls a function with one part of bytes after another, each in a turn of its own, so that other events are handled
 * between them.
 */
async function inSlices(bytes: Uint8Array, use: (part: Uint8Array, at: number) => void): Promise<void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await setImmediate();
    use(bytes.subarray(at, at + SLICE_BYTES), at);
  }
}

/** Copies bytes into memory that threads share, so that they can be sent to one without being copied again. */
export async function sharedCopy(bytes: Uint8Array): Promise<Uint8Array<SharedArrayBuffer>> {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  await inSlices(bytes, (part, at) => copy.set(part, at));
  return copy;
}

/** Returns the SHA-256 digest of bytes, in hex. */
export async function sha256InSlices(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  await inSlices(bytes, (part) => hash.update(part));
  return hash.digest("hex");
}

/** Joins bytes. */
export async function concatInSlices(parts: readonly Uint8Array[]): Promise<Uint8Array<SharedArrayBuffer>> {
  const all = new Uint8Array(new SharedArrayBuffer(parts.reduce((sum, { length }) => sum + length, 0)));
  let start = 0;
  let copied = 0;
  for (const part of parts) {
    const to = start;
    // Most parts are small.
    if (copied + part.length > SLICE_BYTES) {
      await setImmediate();
      copied = 0;
    }
    await inSlices(part, (slice, at) => all.set(slice, to + at));
    start += part.length;
    copied += part.length;
  }
  return all;
}
