import { AbiError } from "./abi-error.ts";
import type { Crossing } from "./memory-access.ts";

const ENCODER = new TextEncoder();
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UTF16 = new TextDecoder("utf-16le", { fatal: true, ignoreBOM: true });
const LATIN1_ONLY = /^[\u0000-\u00ff]*$/;

/** In a length of `latin1+utf16`: whether it is UTF-16. */
const UTF16_TAG = 0x8000_0000;

/** Reads a string (`CanonicalABI.md`, `load_string`). Text that is none ends the call. */
export function loadString(crossing: Crossing, at: number, taggedLength: number): string {
  const isTagged = crossing.encoding === "latin1+utf16";
  const isUtf16 = crossing.encoding === "utf16" || (isTagged && taggedLength >= UTF16_TAG);
  const units = isTagged && isUtf16 ? taggedLength - UTF16_TAG : taggedLength;
  if (crossing.encoding !== "utf8" && at % 2 !== 0) throw new AbiError("a string is not aligned");
  const bytes = crossing.bytes(at, isUtf16 ? units * 2 : units);
  // JSON needs a byte for each unit, at the least.
  crossing.budget.charge(units);
  if (isTagged && !isUtf16) return Buffer.from(bytes).toString("latin1");
  try {
    return (isUtf16 ? UTF16 : UTF8).decode(bytes);
  } catch {
    throw new AbiError("a string is no valid Unicode");
  }
}

/** Writes a string of valid Unicode to the component's memory; returns where, and its length as it counts it. */
export function storeString(crossing: Crossing, text: string): readonly [at: number, taggedLength: number] {
  if (crossing.encoding === "utf8") {
    const bytes = ENCODER.encode(text);
    return [storeBytes(crossing, bytes, 1), bytes.length];
  }
  if (crossing.encoding === "latin1+utf16" && LATIN1_ONLY.test(text)) {
    return [storeBytes(crossing, Buffer.from(text, "latin1"), 2), text.length];
  }
  const tag = crossing.encoding === "utf16" ? 0 : UTF16_TAG;
  return [storeBytes(crossing, Buffer.from(text, "utf16le"), 2), text.length + tag];
}

/** Writes bytes to memory that the component sets aside; returns where. */
export function storeBytes(crossing: Crossing, bytes: Uint8Array, alignment: number): number {
  const at = crossing.allocate(alignment, bytes.length);
  crossing.bytes(at, bytes.length).set(bytes);
  return at;
}
