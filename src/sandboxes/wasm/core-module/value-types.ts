import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "./binary-reader.ts";

/** The first byte of a reference type that is followed by a heap type (core specification, section 5.3.5). */
const NULLABLE_REFERENCE = 0x63;
const REFERENCE = 0x64;

/** Vectors and numbers: v128, f64, f32, i64, i32. */
const FIRST_NUMBER = 0x7b;
const LAST_NUMBER = 0x7f;

/** Abstract heap types, from `exn` to `noexn`. As a value type, each is the nullable reference to it. */
const FIRST_ABSTRACT = 0x69;
const LAST_ABSTRACT = 0x74;

/** A heap type of one byte below this is the index of a type. */
const FIRST_NEGATIVE = 0x40;

/** What V8 takes for a value in an exception, by the first byte of its type: it splits numbers into parts of 16 bits. */
export function exceptionValueBytes(type: number): number {
  if (type === FIRST_NUMBER) return 64;
  if (type < FIRST_NUMBER || type > LAST_NUMBER) return 8;
  return type === 0x7e || type === 0x7c ? 32 : 16;
}

/** Whether a value type has more than one byte: a heap type follows the first. */
export function isReferencePrefix(byte: number): boolean {
  return byte === NULLABLE_REFERENCE || byte === REFERENCE;
}

/** Whether a byte is a value type. */
export function isSimpleType(byte: number): boolean {
  return (byte >= FIRST_NUMBER && byte <= LAST_NUMBER) || isAbstract(byte);
}

/** Whether a heap type of one byte is supported. */
export function isHeapType(byte: number): boolean {
  return byte < FIRST_NEGATIVE || isAbstract(byte);
}

function isAbstract(byte: number): boolean {
  return byte >= FIRST_ABSTRACT && byte <= LAST_ABSTRACT;
}

/**
 * Reads a value type (section 5.3.4) outside of code.
 *
 * @returns its bytes.
 * @throws {ToolPreparationError} if it is not supported.
 */
export function readValueType(reader: BinaryReader): readonly number[] {
  const bytes = [reader.byte()];
  const first = bytes[0] ?? 0;
  if (isReferencePrefix(first)) {
    do bytes.push(reader.byte());
    while ((bytes.at(-1) ?? 0) >= 0x80);
    if (bytes.length > 2 || isHeapType(bytes[1] ?? 0)) return bytes;
  } else if (isSimpleType(first)) return bytes;
  throw new ToolPreparationError(
    `a core module uses a value type (0x${first.toString(16)}) that is not supported`,
  );
}
