import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { isNestedOption } from "../abi/shapes.ts";
import type { ComponentRecord, ComponentValue, TaggedValue } from "../abi/value.ts";
import type { NamedType, ValueType } from "../linking/value-type.ts";

/** `JSON.stringify` writes the number -0 as `0`. */
const NEGATIVE_ZERO = (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON("-0");

/** A part of a value before or after it is converted. */
type Converted = ComponentValue | JsonValue;

interface MutableRecord {
  [member: string]: Converted;
}

/**
 * Converts JSON arguments to the values of a function's parameters.
 *
 * @param input An object as described by `argumentsSchema`.
 * @throws {ArgumentError} if it does not match the parameters.
 */
export function argumentsFromJson(params: readonly NamedType[], input: JsonValue): readonly ComponentValue[] {
  const members = readObject(input, "");
  refuseOthers(
    members,
    params.map(({ name }) => name),
    "",
  );
  return params.map(({ name, type }) => readMember(members, name, type, ""));
}

/** Minimum and maximum of the integer types up to 32 bits. */
export const INTEGER_BOUNDS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  s8: [-0x80, 0x7f],
  u8: [0, 0xff],
  s16: [-0x8000, 0x7fff],
  u16: [0, 0xffff],
  s32: [-0x8000_0000, 0x7fff_ffff],
  u32: [0, 0xffff_ffff],
};

function fromJson(type: ValueType, json: JsonValue, path: string): ComponentValue {
  switch (type.kind) {
    case "bool":
      if (typeof json !== "boolean") throw new ArgumentError(path, "must be boolean");
      return json;
    case "s64":
    case "u64":
      return readBigInteger(type.kind, json, path);
    case "f32":
      return readFloat32(json, path);
    case "f64":
      if (typeof json !== "number") throw new ArgumentError(path, "must be number");
      return json;
    case "char":
    case "string":
      return readText(type.kind, json, path);
    case "list":
      if (type.element.kind === "u8") return readBytes(json, path);
      return readArray(json, path).map((item, index) => fromJson(type.element, item, `${path}/${index}`));
    case "tuple": {
      const items = readArray(json, path);
      if (items.length !== type.items.length) {
        throw new ArgumentError(path, `must have ${type.items.length} items`);
      }
      return type.items.map((item, index) => fromJson(item, items[index] ?? null, `${path}/${index}`));
    }
    case "record":
      return readRecord(type.fields, json, path);
    case "enum":
      return readName(type.names, json, path);
    case "flags":
      return readArray(json, path).map((item, index) => readName(type.names, item, `${path}/${index}`));
    case "option":
      if (json === null) return undefined;
      if (!isNestedOption(type)) return fromJson(type.some, json, path);
      return readRecord([{ name: "some", type: type.some }], json, path, true);
    case "result":
      return readResult(type, json, path);
    case "variant":
      return readVariant(type, json, path);
    case "own":
    case "borrow":
    case "unsupported":
      throw new ArgumentError(path, "has a type that is not supported");
    default:
      return readInteger(INTEGER_BOUNDS[type.kind] ?? [0, 0], json, path);
  }
}

function readInteger([least, most]: readonly [number, number], json: JsonValue, path: string): number {
  if (typeof json === "number" && Number.isInteger(json) && json >= least && json <= most) return json;
  throw new ArgumentError(path, `must be an integer from ${least} to ${most}`);
}

/** A number that f32 cannot represent is rounded, but not to infinity. */
function readFloat32(json: JsonValue, path: string): number {
  if (typeof json !== "number") throw new ArgumentError(path, "must be number");
  if (Number.isFinite(Math.fround(json))) return json;
  throw new ArgumentError(path, "must be a number that fits in f32, whose largest is about 3.4028235e38");
}

function readBigInteger(kind: "s64" | "u64", json: JsonValue, path: string): bigint {
  const isSafe = typeof json === "number" && Number.isSafeInteger(json);
  if (isSafe || (typeof json === "string" && /^-?\d{1,20}$/.test(json))) {
    const value = BigInt(json as string | number);
    if ((kind === "s64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value) return value;
  }
  throw new ArgumentError(path, `must be an integer of type ${kind}, as a string if it is beyond 2^53`);
}

function readText(kind: "char" | "string", json: JsonValue, path: string): string {
  if (typeof json !== "string") throw new ArgumentError(path, "must be string");
  if (!json.isWellFormed())
    throw new ArgumentError(path, "must be well-formed Unicode, but has a lone surrogate");
  if (kind === "char" && (json === "" || String.fromCodePoint(json.codePointAt(0) ?? 0) !== json)) {
    throw new ArgumentError(path, "must be one character");
  }
  return json;
}

function readBytes(json: JsonValue, path: string): Uint8Array {
  if (typeof json === "string") {
    const bytes = Buffer.from(json, "base64");
    if (bytes.toString("base64") === json) return bytes;
  }
  throw new ArgumentError(path, "must be base64");
}

function readArray(json: JsonValue, path: string): readonly JsonValue[] {
  if (Array.isArray(json)) return json;
  throw new ArgumentError(path, "must be array");
}

function readObject(json: JsonValue, path: string): { readonly [member: string]: JsonValue | undefined } {
  if (isJsonObject(json)) return json;
  throw new ArgumentError(path, "must be object");
}

function readRecord(
  fields: readonly NamedType[],
  json: JsonValue,
  path: string,
  isRequired = false,
): ComponentRecord {
  const members = readObject(json, path);
  refuseOthers(
    members,
    fields.map(({ name }) => name),
    path,
  );
  const record: Record<string, ComponentValue> = {};
  for (const { name, type } of fields) record[name] = readMember(members, name, type, path, isRequired);
  return record;
}

/** A member may be omitted if its type is an option. */
function readMember(
  members: { readonly [member: string]: JsonValue | undefined },
  name: string,
  type: ValueType,
  path: string,
  isRequired = false,
): ComponentValue {
  const member = Object.hasOwn(members, name) ? members[name] : undefined;
  if (member === undefined) {
    if (type.kind === "option" && !isRequired) return undefined;
    throw new ArgumentError(path, `must have required property '${name}'`);
  }
  return fromJson(type, member, `${path}/${name}`);
}

function refuseOthers(members: object, known: readonly string[], path: string): void {
  for (const name of Object.keys(members)) {
    if (!known.includes(name)) throw new ArgumentError(path, "must NOT have additional properties");
  }
}

function readName(names: readonly string[], json: JsonValue, path: string): string {
  if (typeof json === "string" && names.includes(json)) return json;
  throw new ArgumentError(path, `must be one of ${names.join(", ")}`);
}

function readVariant(
  { cases }: Extract<ValueType, { readonly kind: "variant" }>,
  json: JsonValue,
  path: string,
): ComponentValue {
  const members = readObject(json, path);
  const tag = readName(
    cases.map(({ name }) => name),
    Object.hasOwn(members, "tag") ? (members["tag"] ?? null) : null,
    `${path}/tag`,
  );
  const type = cases.find(({ name }) => name === tag)?.type;
  refuseOthers(members, type === undefined ? ["tag"] : ["tag", "val"], path);
  return type === undefined ? { tag } : { tag, val: readMember(members, "val", type, path, true) };
}

function readResult(
  { ok, err }: Extract<ValueType, { readonly kind: "result" }>,
  json: JsonValue,
  path: string,
): ComponentValue {
  const members = readObject(json, path);
  const tag = Object.hasOwn(members, "ok") ? "ok" : "err";
  refuseOthers(members, [tag], path);
  const type = tag === "ok" ? ok : err;
  if (type !== undefined) return { tag, val: readMember(members, tag, type, path, true) };
  if (Object.hasOwn(members, tag) && members[tag] === null) return { tag };
  throw new ArgumentError(path, "must be { ok } or { err }, with null if there is no value");
}

/** The arguments do not match the function's type. The model reads `message`, which has the path and the reason. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";

  constructor(path: string, why: string) {
    super(`Invalid arguments: ${path || "/"} ${why}`);
  }
}

/**
 * Converts a value to what `JSON.stringify` writes as its JSON, the reverse of `argumentsFromJson`. The type must have
 * passed `argumentsSchema`. Arrays and records are converted in place, so that a value does not take twice the memory.
 */
export function toJson(type: ValueType, value: ComponentValue): JsonValue {
  switch (type.kind) {
    case "s64":
    case "u64": {
      const number = Number(value);
      // A string if a double cannot represent the integer exactly.
      return Number.isSafeInteger(number) ? number : String(value);
    }
    case "f32":
    case "f64":
      if (Object.is(value, -0)) return NEGATIVE_ZERO;
      return Number.isFinite(value) ? (value as number) : String(value);
    case "list": {
      if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
      const items = value as Converted[];
      for (const [index, item] of items.entries())
        items[index] = toJson(type.element, item as ComponentValue);
      return items as JsonValue;
    }
    case "tuple": {
      const items = value as Converted[];
      for (const [index, item] of type.items.entries())
        items[index] = toJson(item, items[index] as ComponentValue);
      return items as JsonValue;
    }
    case "record":
      for (const { name, type: of } of type.fields) convertMember(value as MutableRecord, name, of);
      return value as JsonValue;
    case "option":
      if (value === undefined) return null;
      if (!isNestedOption(type)) return toJson(type.some, value);
      return convertMember(value as MutableRecord, "some", type.some);
    case "result": {
      const { tag, val } = value as TaggedValue;
      const of = tag === "ok" ? type.ok : type.err;
      return { [tag]: of === undefined ? null : toJson(of, val) };
    }
    case "variant": {
      const { tag } = value as TaggedValue;
      const of = type.cases.find(({ name }) => name === tag)?.type;
      return of === undefined ? { tag } : convertMember(value as MutableRecord, "val", of);
    }
    default:
      // Values of the other types are the same in JSON.
      return value as JsonValue;
  }
}

function convertMember(record: MutableRecord, name: string, type: ValueType): JsonValue {
  record[name] = toJson(type, record[name] as ComponentValue);
  return record as JsonValue;
}
