import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "./binary.ts";
import { checkCoreName, checkExportName } from "./core-name.ts";

/** The minimum and maximum size of a memory (in pages of 64 KiB) or of a table (in elements). */
export interface Limits {
  readonly min: number;
  /** `undefined` if the module does not set a maximum. */
  readonly max: number | undefined;
}

/** A table. */
export interface Table {
  /** The type of its elements, as encoded in the binary. */
  readonly type: readonly number[];
  readonly limits: Limits;
}

const FUNCTION_TYPE = 0x60;

const TABLE_WITH_INITIAL_VALUE = 0x40;

/** How many values a function or a block takes and returns. */
export interface Signature {
  readonly parameters: number;
  readonly results: number;
}

/** A function type, which is also the type of tags. */
export interface FunctionType extends Signature {
  /** What V8 takes for an exception with the parameters, in bytes. */
  readonly exceptionBytes: number;
}

/** What V8 takes for an exception without values, in bytes, as measured (V8 14.6), with what its array takes. */
const EXCEPTION_BYTES = 64;

/** Reads a function type. Arrays and structs are on V8's heap, outside the linear memories that a grant limits. */
export function readFunctionType(reader: BinaryReader): FunctionType {
  if (reader.byte() !== FUNCTION_TYPE) {
    throw new ToolPreparationError(
      "a core module uses garbage-collected types, whose memory has no limit: compile it for linear memory",
    );
  }
  let exceptionBytes = EXCEPTION_BYTES;
  const parameters = reader.vector(() => {
    exceptionBytes += exceptionValueBytes(readValueType(reader)[0] ?? 0);
  });
  const results = reader.vector(() => readValueType(reader));
  return { parameters, results, exceptionBytes };
}

/** Reads the type of a tag (section 5.5.16): the index of a function type. */
export function readTag(reader: BinaryReader): number {
  reader.byte();
  return reader.u32();
}

/** What a core module imports (core specification, section 5.5.5), as far as it shifts the module's own indices. */
export type Import =
  | { readonly kind: "memory" | "global" }
  | { readonly kind: "function" | "tag" /** The index of its type. */; readonly type: number }
  | { readonly kind: "table"; readonly table: Table };

/**
 * Reads an import.
 *
 * @throws {ToolPreparationError} if a name in it is unsafe, or it is of an unsupported kind.
 */
export function readImport(reader: BinaryReader): Import {
  checkCoreName(reader.name());
  checkCoreName(reader.name());
  switch (reader.byte()) {
    case 0:
      return { kind: "function", type: reader.u32() };
    case 1:
      return { kind: "table", table: readTable(reader) };
    case 2:
      readLimits(reader);
      return { kind: "memory" };
    case 3:
      readValueType(reader);
      reader.byte();
      return { kind: "global" };
    case 4:
      return { kind: "tag", type: readTag(reader) };
    default:
      throw new ToolPreparationError("a core module imports something of an unknown kind");
  }
}

/** Reads an export. */
export function readExport(reader: BinaryReader): void {
  checkExportName(reader.name());
  reader.byte();
  reader.u32();
}

/** Reads a table's element type and limits. */
export function readTable(reader: BinaryReader): Table {
  if (reader.peek() === TABLE_WITH_INITIAL_VALUE) {
    throw new ToolPreparationError("a core module has a table with an initial value, which is not supported");
  }
  return { type: readValueType(reader), limits: readLimits(reader) };
}

/** Reads 32-bit limits (section 5.3.11). Shared and 64-bit memories and custom page sizes are refused. */
export function readLimits(reader: BinaryReader): Limits {
  const flags = reader.byte();
  if (flags > 1) {
    throw new ToolPreparationError(
      "a core module has a shared or 64-bit memory or table, which is not supported",
    );
  }
  const min = reader.u32();
  return { min, max: flags === 1 ? reader.u32() : undefined };
}

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
function exceptionValueBytes(type: number): number {
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
