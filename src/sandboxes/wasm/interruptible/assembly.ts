import { ToolPreparationError } from "../../contract/sandbox.ts";
import { u32Bytes } from "../core-module/binary.ts";

/** A function that is appended to a core module. */
export interface Helper {
  /** For stack traces. */
  readonly name: string;
  readonly type: Code;
  /** Its local variables and its code. */
  readonly body: Code;
}

/** A bulk instruction, as it stands in the code. */
export interface BulkInstruction {
  /** One of `INSTRUCTION`. */
  readonly code: number;
  /** The indices behind it. */
  readonly indices: readonly number[];
}

/** Code of WebAssembly in its binary form. */
export type Code = readonly number[];

/** Instructions that helpers are made of (core specification, section 5.4), and the types of blocks. */
export const OP = {
  unreachable: 0x00,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  return: 0x0f,
  noResult: 0x40,
  drop: 0x1a,
  isZero: 0x45,
  isLessSigned: 0x48,
  isLess: 0x49,
  isGreaterSigned: 0x4a,
  isAtMost: 0x4d,
  add: 0x6a,
  subtract: 0x6b,
  or: 0x72,
  shiftRight: 0x76,
} as const;

/** The type `i32`. */
export const I32: Code = [0x7f];

/** The value of a local variable. */
export function localGet(index: number): Code {
  return [0x20, ...u32Bytes(index)];
}

/** Sets a local variable. */
export function localSet(index: number): Code {
  return [0x21, ...u32Bytes(index)];
}

/** Sets a local variable, and gives its value. */
export function localTee(index: number): Code {
  return [0x22, ...u32Bytes(index)];
}

/** The value of a global variable. */
export function globalGet(index: number): Code {
  return [0x23, ...u32Bytes(index)];
}

/** Sets a global variable. */
export function globalSet(index: number): Code {
  return [0x24, ...u32Bytes(index)];
}

/** Calls a function. */
export function call(index: number): Code {
  return [0x10, ...u32Bytes(index)];
}

/** A constant from 0 to 2^31 - 1. */
export function i32Const(value: number): Code {
  const bytes = u32Bytes(value);
  const last = bytes.at(-1) ?? 0;
  // Constants are signed. The second highest bit of the last byte is the sign.
  return last < 0x40 ? [0x41, ...bytes] : [0x41, ...bytes.slice(0, -1), last | 0x80, 0];
}

/** A mutable global variable of type `i32`, as it is defined. */
export function variable(value: number): Code {
  return [...I32, 1, ...i32Const(value), OP.end];
}

/** A mutable global variable for functions of a type, as it is defined: without one at first. */
export function noFunction(type: number): Code {
  // An index in a type is signed, as a constant is.
  const index = i32Const(type).slice(1);
  return [0x63, ...index, 1, 0xd0, ...index, OP.end];
}

/** Calls the function of a type that is on the stack, above its arguments. */
export function callReference(type: number): Code {
  return [0x14, ...u32Bytes(type)];
}

/** An instruction of `INSTRUCTION` that has a prefix. */
export function prefixed(code: number, ...indices: readonly number[]): Code {
  return [code >> 16, ...u32Bytes(code & 0xffff), ...indices.flatMap(u32Bytes)];
}

/** A function type, of value types. */
export function functionType(params: readonly Code[], results: readonly Code[]): Code {
  return [0x60, params.length, ...params.flat(), results.length, ...results.flat()];
}

/** By how many bytes edits make the code longer. */
export function growthBy(edits: readonly Edit[]): number {
  return edits.reduce((sum, { from, to, code }) => sum + code.length - (to - from), 0);
}

/** Code that goes in place of the bytes between two positions. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly code: Code;
}

/** The largest components of honest compilers need a twentieth of this. */
const MAX_EDITS = 1_048_576;

/** Longer parts of the original are not copied. */
const SHORT_BYTES = 4_096;

const CHUNK_BYTES = 64 * 1_024;

/** Bytes with changes in some places. */
export class EditedBytes {
  readonly #original: Uint8Array;
  /** Up to where the original was taken. */
  #at: number;
  readonly #parts: Uint8Array[] = [];
  /** Where short parts are copied to, and how much of it is used. */
  #chunk = new Uint8Array(0);
  #used = 0;
  #edits = 0;

  /** @param start Where the original begins to be taken. */
  constructor(original: Uint8Array, start: number) {
    this.#original = original;
    this.#at = start;
  }

  /** Whether nothing was changed. */
  get isSame(): boolean {
    return this.#edits === 0;
  }

  /**
   * Adds an edit behind all earlier ones.
   *
   * @throws {ToolPreparationError} if there are too many.
   */
  edit({ from, to, code }: Edit): void {
    if (++this.#edits > MAX_EDITS) {
      throw new ToolPreparationError(
        `a core module has more than ${MAX_EDITS} functions, loops, bulk instructions, exceptions and tail calls`,
      );
    }
    this.#append(this.#original.subarray(this.#at, from));
    this.#append(code);
    this.#at = to;
  }

  /** Copies the remainder of the original, and returns everything in parts. */
  finish(): readonly Uint8Array[] {
    this.#append(this.#original.subarray(this.#at));
    this.#at = this.#original.length;
    this.#endChunk();
    return this.#parts;
  }

  #append(bytes: Uint8Array | Code): void {
    if (bytes instanceof Uint8Array && bytes.length > SHORT_BYTES) {
      this.#endChunk();
      this.#parts.push(bytes);
      return;
    }
    if (this.#used + bytes.length > this.#chunk.length) {
      this.#endChunk();
      this.#chunk = new Uint8Array(Math.max(CHUNK_BYTES, bytes.length));
    }
    this.#chunk.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  /** Further copies use the remainder of the chunk. */
  #endChunk(): void {
    if (this.#used > 0) this.#parts.push(this.#chunk.subarray(0, this.#used));
    this.#chunk = this.#chunk.subarray(this.#used);
    this.#used = 0;
  }
}
