import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary.ts";
import { Scope, type TypeDefinition } from "./scope.ts";
import {
  type Case,
  checkTypeSize,
  type FunctionType,
  type NamedType,
  type PrimitiveKind,
  type ValueType,
} from "./value-type.ts";

const PRIMITIVES: ReadonlyMap<number, PrimitiveKind> = new Map<number, PrimitiveKind>([
  [0x7f, "bool"],
  [0x7e, "s8"],
  [0x7d, "u8"],
  [0x7c, "s16"],
  [0x7b, "u16"],
  [0x7a, "s32"],
  [0x79, "u32"],
  [0x78, "s64"],
  [0x77, "u64"],
  [0x76, "f32"],
  [0x75, "f64"],
  [0x74, "char"],
  [0x73, "string"],
]);

const ERROR_CONTEXT = 0x64;
const FUNCTION = 0x40;
const COMPONENT = 0x41;
const INSTANCE = 0x42;
const ASYNC_FUNCTION = 0x43;
/** Starts a resource definition. It includes a destructor, which is not a type, so the section's reader reads it. */
export const RESOURCE = 0x3f;

/** Reads the declarations inside a component type or an instance type. */
export type DeclarationReader = (reader: BinaryReader, scope: Scope, ofComponent: boolean) => void;

/**
 * Reads one definition of a type section (`Binary.md`, `deftype`).
 *
 * @throws {ToolPreparationError} if it is invalid or too large.
 */
export function readType(
  reader: BinaryReader,
  scope: Scope,
  declarations: DeclarationReader,
): TypeDefinition {
  const form = reader.byte();
  switch (form) {
    case FUNCTION:
    case ASYNC_FUNCTION:
      return { sort: "function", type: readFunction(reader, scope, form === ASYNC_FUNCTION) };
    case COMPONENT:
    case INSTANCE: {
      const inner = new Scope(scope, scope.component);
      declarations(reader, inner, form === COMPONENT);
      return form === COMPONENT ? { sort: "component" } : { sort: "instance", exports: inner.exports };
    }
    case RESOURCE:
      throw new ToolPreparationError("it defines a resource inside a type, which is not valid");
    default: {
      const type = readDefinedValue(form, reader, scope);
      checkTypeSize(type);
      return { sort: "value", type };
    }
  }
}

function readFunction(reader: BinaryReader, scope: Scope, isAsync: boolean): FunctionType {
  const params = readNamed(reader, scope);
  const hasResult = reader.byte() === 0;
  const result = hasResult ? readValueType(reader, scope) : undefined;
  if (!hasResult && reader.byte() !== 0)
    throw new ToolPreparationError("it has a function with named results, which are outdated");
  checkTypeSize({ kind: "tuple", items: [...params.map(({ type }) => type), ...(result ? [result] : [])] });
  return { params, result, isAsync };
}

function readDefinedValue(form: number, reader: BinaryReader, scope: Scope): ValueType {
  const primitive = PRIMITIVES.get(form);
  if (primitive !== undefined) return { kind: primitive };
  const optional = (): ValueType | undefined =>
    reader.byte() === 0 ? undefined : readValueType(reader, scope);
  switch (form) {
    case 0x72:
      return { kind: "record", fields: readNamed(reader, scope) };
    case 0x71:
      return { kind: "variant", cases: readCases(reader, scope) };
    case 0x70:
      return { kind: "list", element: readValueType(reader, scope) };
    case 0x6f:
      return { kind: "tuple", items: list(reader, () => readValueType(reader, scope)) };
    case 0x6e:
      return { kind: "flags", names: list(reader, () => readLabel(reader)) };
    case 0x6d:
      return { kind: "enum", names: list(reader, () => readLabel(reader)) };
    case 0x6b:
      return { kind: "option", some: readValueType(reader, scope) };
    case 0x6a:
      return { kind: "result", ok: optional(), err: optional() };
    case 0x69:
    case 0x68:
      return readHandle(form === 0x69 ? "own" : "borrow", reader, scope);
    case 0x67: {
      readValueType(reader, scope);
      reader.u32();
      return { kind: "unsupported", what: "list of fixed length" };
    }
    case 0x66:
    case 0x65:
      optional();
      return { kind: "unsupported", what: form === 0x66 ? "stream" : "future" };
    case 0x63:
      readValueType(reader, scope);
      readValueType(reader, scope);
      return { kind: "unsupported", what: "map" };
    case ERROR_CONTEXT:
      return { kind: "unsupported", what: "error-context" };
    default:
      throw new ToolPreparationError("it defines a type of an unknown form");
  }
}

/**
 * Reads a use of a value type: a primitive type in one byte, or the index of a definition.
 *
 * @throws {ToolPreparationError} if it is invalid.
 */
export function readValueType(reader: BinaryReader, scope: Scope): ValueType {
  // Indices are signed. The primitive types are negative numbers of one byte.
  const first = reader.peek();
  if (first >= 0x40 && first < 0x80) {
    reader.byte();
    const primitive = PRIMITIVES.get(first);
    if (primitive !== undefined) return { kind: primitive };
    if (first === ERROR_CONTEXT) return { kind: "unsupported", what: "error-context" };
    throw new ToolPreparationError("it uses a type of an unknown form");
  }
  const definition = scope.types.get(reader.u32());
  if (definition.sort !== "value")
    throw new ToolPreparationError("it uses a type for a value that is not a value type");
  return definition.type;
}

function readHandle(kind: "own" | "borrow", reader: BinaryReader, scope: Scope): ValueType {
  const definition = scope.types.get(reader.u32());
  if (definition.sort !== "resource")
    throw new ToolPreparationError("it has a handle type whose type is not a resource type");
  return { kind, resource: definition.resource };
}

function readNamed(reader: BinaryReader, scope: Scope): readonly NamedType[] {
  return list(reader, () => ({ name: readLabel(reader), type: readValueType(reader, scope) }));
}

function readCases(reader: BinaryReader, scope: Scope): readonly Case[] {
  return list(reader, () => {
    const name = readLabel(reader);
    const type = reader.byte() === 0 ? undefined : readValueType(reader, scope);
    if (reader.byte() !== 0)
      throw new ToolPreparationError("it has a variant whose case refines another, which is outdated");
    return { name, type };
  });
}

/** Labels (`Explainer.md`, `label`). They become property names of objects, so nothing else is accepted. */
const LABEL = /^[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*$/;

function readLabel(reader: BinaryReader): string {
  const name = reader.name();
  if (LABEL.test(name)) return name;
  throw new ToolPreparationError(`it has an invalid label: ${JSON.stringify(name.slice(0, 64))}`);
}

function list<Item>(reader: BinaryReader, read: () => Item): readonly Item[] {
  const items: Item[] = [];
  reader.vector(() => items.push(read()));
  return items;
}
