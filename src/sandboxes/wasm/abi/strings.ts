import { MAX_BYTES } from "./layout.ts";
import type { MemoryAccess } from "./memory-access.ts";
import { AbiError } from "./value.ts";

const ENCODER = new TextEncoder();
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UTF16 = new TextDecoder("utf-16le", { fatal: true, ignoreBOM: true });
const LATIN1_ONLY = /^[\u0000-\u00ff]*$/;

/** The bit of a `latin1+utf16` length that marks UTF-16. */
const UTF16_TAG = 0x8000_0000;

/**
 * Reads a string (`CanonicalABI.md`, `load_string`).
 *
 * @throws {AbiError} if it is not aligned, out of bounds or not valid Unicode.
 * @throws {LiftBudgetError} if it is too large.
 */
export function loadString(access: MemoryAccess, at: number, taggedLength: number): string {
  const isTagged = access.encoding === "latin1+utf16";
  const isUtf16 = access.encoding === "utf16" || (isTagged && taggedLength >= UTF16_TAG);
  const units = isTagged && isUtf16 ? taggedLength - UTF16_TAG : taggedLength;
  const length = isUtf16 ? units * 2 : units;
  if (length > MAX_BYTES) throw new AbiError("a string is too long");
  access.check(at, access.encoding === "utf8" ? 1 : 2, length);
  // Each byte in the component becomes at most one code unit. JSON needs at least one byte for each code unit.
  access.budget.charge(units * 2, units);
  const bytes = access.bytes(at, length);
  if (isTagged && !isUtf16) return Buffer.from(bytes).toString("latin1");
  try {
    return (isUtf16 ? UTF16 : UTF8).decode(bytes);
  } catch {
    throw new AbiError("a string is not valid Unicode");
  }
}

/**
 * Writes well-formed text to memory that the component allocates. Returns its address, and its length as the ABI
 * encodes it.
 */
export function storeString(access: MemoryAccess, text: string): readonly [at: number, taggedLength: number] {
  if (access.encoding === "utf8") {
    const bytes = ENCODER.encode(text);
    return [storeBytes(access, bytes, 1), bytes.length];
  }
  if (access.encoding === "latin1+utf16" && LATIN1_ONLY.test(text)) {
    return [storeBytes(access, Buffer.from(text, "latin1"), 2), text.length];
  }
  const tag = access.encoding === "utf16" ? 0 : UTF16_TAG;
  return [storeBytes(access, Buffer.from(text, "utf16le"), 2), text.length + tag];
}

/** Writes bytes to memory that the component allocates. Returns their address. */
export function storeBytes(access: MemoryAccess, bytes: Uint8Array, alignment: number): number {
  const at = access.allocate(alignment, bytes.length);
  access.bytes(at, bytes.length).set(bytes);
  return at;
}
