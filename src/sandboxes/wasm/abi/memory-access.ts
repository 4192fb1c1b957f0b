import type { Handles } from "./handles.ts";
import { MAX_BYTES } from "./layout.ts";
import type { LiftBudget } from "./lift-budget.ts";
import { AbiError } from "./value.ts";

const ENCODER = new TextEncoder();

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const UTF16 = new TextDecoder("utf-16le", { fatal: true, ignoreBOM: true });

const LATIN1_ONLY = /^[\u0000-\u00ff]*$/;

/** The bit of a `latin1+utf16` length that marks UTF-16. */
const UTF16_TAG = 0x8000_0000;

/**
 * Strings are decoded in pieces of this many bytes. Larger pieces stay longer than their use: V8 has a
 * separate space for objects of more than 128 KiB, and Node.js allocates strings of more than about 1,000,000
 * bytes outside of the heap.
 */
const PIECE_BYTES = 64 * 1_024;

type Realloc = (old: number, oldSize: number, alignment: number, size: number) => number;

/** The memory of a component instance, and how it stores strings and handles there. */
export interface MemoryAccessOptions {
  /** The index of the component instance. */
  readonly component: number;
  readonly memory: WebAssembly.Memory | undefined;
  readonly realloc: Realloc | undefined;
  readonly encoding: "utf8" | "utf16" | "latin1+utf16";
  readonly handles: Handles;
  readonly budget: LiftBudget;
}

/** Reads and writes a component's memory while values are lifted from it or lowered into it. */
export class MemoryAccess {
  readonly component: number;
  readonly encoding: MemoryAccessOptions["encoding"];
  readonly handles: Handles;
  readonly budget: LiftBudget;
  readonly #memory: WebAssembly.Memory | undefined;
  readonly #realloc: Realloc | undefined;
  #view: DataView | undefined;

  constructor({ component, memory, realloc, encoding, handles, budget }: MemoryAccessOptions) {
    this.component = component;
    this.encoding = encoding;
    this.handles = handles;
    this.budget = budget;
    this.#memory = memory;
    this.#realloc = realloc;
  }

  /** A view of the current buffer, because a memory that grows gets a new buffer. */
  get view(): DataView {
    const buffer = this.#memory?.buffer;
    if (buffer === undefined) throw new AbiError("it passes a value in memory but declares no memory");
    if (this.#view?.buffer !== buffer) this.#view = new DataView(buffer);
    return this.#view as DataView;
  }

  /**
   * Checks a pointer to a value.
   *
   * @throws {AbiError} if it is not aligned, or the value is out of bounds.
   */
  check(at: number, alignment: number, size: number): void {
    if (at % alignment !== 0) throw new AbiError("a pointer is not aligned");
    if (at + size > this.view.byteLength) throw new AbiError("a value is out of the bounds of memory");
  }

  /**
   * Returns bytes of the memory without copying them.
   *
   * @throws {AbiError} if they are out of bounds.
   */
  bytes(at: number, length: number): Uint8Array {
    this.check(at, 1, length);
    return new Uint8Array(this.view.buffer, at, length);
  }

  /**
   * Calls the component's `realloc` to allocate memory.
   *
   * @throws {AbiError} if there is no `realloc`, or it returns an invalid pointer.
   */
  allocate(alignment: number, size: number): number {
    if (this.#realloc === undefined)
      throw new AbiError("it receives a value in memory but declares no realloc");
    const at = this.handles.withoutLeaving(() => this.#realloc?.(0, 0, alignment, size) ?? 0) >>> 0;
    if (at % alignment !== 0 || at + size > this.view.byteLength) {
      throw new AbiError("realloc returned an invalid pointer");
    }
    return at;
  }
}

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
  if (isTagged && !isUtf16) return decodePieces(bytes, (piece) => bufferOf(piece).toString("latin1"));
  const decoder = isUtf16 ? UTF16 : UTF8;
  const endPiece = isUtf16 ? endOfUtf16 : endOfUtf8;
  try {
    return decodePieces(bytes, (piece) => decoder.decode(piece), endPiece);
  } catch {
    throw new AbiError("a string is not valid Unicode");
  }
}

/** @param endPiece Returns where a piece that would end at a position has to end, so that it ends with a character. */
function decodePieces(
  bytes: Uint8Array,
  decode: (piece: Uint8Array) => string,
  endPiece: (bytes: Uint8Array, end: number) => number = (_, end) => end,
): string {
  if (bytes.length <= PIECE_BYTES) return decode(bytes);
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const end = start + PIECE_BYTES;
    const next = end < bytes.length ? endPiece(bytes, end) : bytes.length;
    text += decode(bytes.subarray(start, next));
    start = next;
  }
  return text;
}

/** A character has up to three continuation bytes. More are invalid wherever they are separated. */
function endOfUtf8(bytes: Uint8Array, end: number): number {
  for (let at = end; at > end - 4; at--) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return end;
}

/** Does not separate a high surrogate from what follows it. */
function endOfUtf16(bytes: Uint8Array, end: number): number {
  return ((bytes[end - 1] ?? 0) & 0xfc) === 0xd8 ? end - 2 : end;
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
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
