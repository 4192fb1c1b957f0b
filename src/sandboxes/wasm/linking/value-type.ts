import { ToolPreparationError } from "../../contract/sandbox.ts";

/** Limits of one type when it is written out, because a few bytes can describe a type of exponential size. */
const MAX_PARTS = 10_000;

const MAX_DEPTH = 100;

/** The size of a type when it is written out, and whether it can be. */
interface TypeSize {
  readonly parts: number;
  readonly depth: number;
  /** The length of all names. A name that the binary has once is written out for each use of its type. */
  readonly nameLength: number;
  /** The first type in it whose values cannot be passed. */
  readonly unsupported: string | undefined;
}

const NOTHING: TypeSize = { parts: 1, depth: 0, nameLength: 0, unsupported: undefined };

const sizes = new WeakMap<ValueType, TypeSize>();

/** A type of the component model (`Explainer.md`, type definitions), with all references resolved. */
export type ValueType =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: "list"; readonly element: ValueType }
  | { readonly kind: "record"; readonly fields: readonly NamedType[] }
  | { readonly kind: "tuple"; readonly items: readonly ValueType[] }
  | { readonly kind: "variant"; readonly cases: readonly Case[] }
  | { readonly kind: "enum"; readonly names: readonly string[] }
  | { readonly kind: "flags"; readonly names: readonly string[] }
  | { readonly kind: "option"; readonly some: ValueType }
  | { readonly kind: "result"; readonly ok: ValueType | undefined; readonly err: ValueType | undefined }
  | { readonly kind: "own" | "borrow"; readonly resource: ResourceType }
  /** A type whose values cannot be passed. `what` is its name. */
  | { readonly kind: "unsupported"; readonly what: string };

/** The types that do not contain other types. */
export type PrimitiveKind =
  | "bool"
  | "s8"
  | "u8"
  | "s16"
  | "u16"
  | "s32"
  | "u32"
  | "s64"
  | "u64"
  | "f32"
  | "f64"
  | "char"
  | "string";

/** A field of a record, or a parameter. */
export interface NamedType {
  readonly name: string;
  readonly type: ValueType;
}

/** A case of a variant. */
export interface Case {
  readonly name: string;
  /** The type of its payload, if it has one. */
  readonly type: ValueType | undefined;
}

/** A resource type. The object is its identity: two types with the same name are different types. */
export interface ResourceType {
  /** The declared name, for messages. */
  readonly name: string;
  /** The index of the component instance that defines it; `undefined` for resources of the host. */
  readonly definedBy: number | undefined;
}

/** The type of a function. */
export interface FunctionType {
  readonly params: readonly NamedType[];
  readonly result: ValueType | undefined;
  readonly isAsync: boolean;
}

/** Returns the payload types of a type with cases; `undefined` for a case without payload, and for other types. */
export function casesOf(type: ValueType): readonly (ValueType | undefined)[] | undefined {
  switch (type.kind) {
    case "variant":
      return type.cases.map((each) => each.type);
    case "enum":
      return type.names.map(() => undefined);
    case "option":
      return [undefined, type.some];
    case "result":
      return [type.ok, type.err];
    default:
      return undefined;
  }
}

/** Returns the field types of a record or a tuple; `undefined` for other types. */
export function fieldsOf(type: ValueType): readonly ValueType[] | undefined {
  if (type.kind === "record") return type.fields.map((field) => field.type);
  return type.kind === "tuple" ? type.items : undefined;
}

/** Returns a type in WIT syntax, with named types written out. */
export function typeText(type: ValueType): string {
  switch (type.kind) {
    case "list":
      return `list<${typeText(type.element)}>`;
    case "record":
      return `record { ${type.fields.map(({ name, type: of }) => `${name}: ${typeText(of)}`).join(", ")} }`;
    case "tuple":
      return `tuple<${type.items.map(typeText).join(", ")}>`;
    case "variant":
      return `variant { ${type.cases.map((each) => `${each.name}${each.type ? `(${typeText(each.type)})` : ""}`).join(", ")} }`;
    case "enum":
    case "flags":
      return `${type.kind} { ${type.names.join(", ")} }`;
    case "option":
      return `option<${typeText(type.some)}>`;
    case "result":
      return `result<${type.ok ? typeText(type.ok) : "_"}, ${type.err ? typeText(type.err) : "_"}>`;
    case "own":
    case "borrow":
      return `${type.kind}<${type.resource.name}>`;
    case "unsupported":
      return type.what;
    default:
      return type.kind;
  }
}

/** Returns a function's type in WIT syntax. */
export function functionText({ params, result, isAsync }: FunctionType): string {
  const taken = params.map(({ name, type }) => `${name}: ${typeText(type)}`).join(", ");
  return `${isAsync ? "async " : ""}func(${taken})${result ? ` -> ${typeText(result)}` : ""}`;
}

/**
 * Checks the size of a type whose parts have been checked before.
 *
 * @throws {ToolPreparationError} if it is too large.
 */
export function checkTypeSize(type: ValueType): void {
  const { parts, depth } = sizeOf(type);
  if (parts > MAX_PARTS || depth > MAX_DEPTH) {
    throw new ToolPreparationError(
      `it has a type with more than ${MAX_PARTS} parts or more than ${MAX_DEPTH} levels`,
    );
  }
}

/** Returns the size of a function's parameters and result, all of which have been checked before. */
export function functionSize({ params, result }: FunctionType): TypeSize {
  return sumOf([...params.map(({ type }) => type), result], params.map(nameOf));
}

/** Returns the name of a type in a type whose values cannot be passed; `undefined` if there is none. */
export function unsupportedIn(type: ValueType): string | undefined {
  return sizeOf(type).unsupported;
}

function sizeOf(type: ValueType): TypeSize {
  const known = sizes.get(type);
  if (known !== undefined) return known;
  const sum = sumOf(partsOf(type), namesOf(type));
  const size = type.kind === "unsupported" ? { ...sum, unsupported: type.what } : sum;
  sizes.set(type, size);
  return size;
}

function sumOf(types: readonly (ValueType | undefined)[], names: readonly string[]): TypeSize {
  let parts = 1;
  let depth = 0;
  let nameLength = 0;
  let unsupported: string | undefined;
  for (const type of types) {
    const size = type === undefined ? NOTHING : sizeOf(type);
    parts += size.parts;
    depth = Math.max(depth, size.depth);
    nameLength += size.nameLength;
    unsupported ??= size.unsupported;
  }
  for (const name of names) nameLength += name.length;
  return { parts, depth: depth + 1, nameLength, unsupported };
}

function partsOf(type: ValueType): readonly (ValueType | undefined)[] {
  if (type.kind === "list") return [type.element];
  if (type.kind === "flags") return type.names.map(() => undefined);
  return casesOf(type) ?? fieldsOf(type) ?? [];
}

function namesOf(type: ValueType): readonly string[] {
  switch (type.kind) {
    case "record":
      return type.fields.map(nameOf);
    case "variant":
      return type.cases.map(nameOf);
    case "enum":
    case "flags":
      return type.names;
    case "own":
    case "borrow":
      return [type.resource.name];
    default:
      return [];
  }
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
