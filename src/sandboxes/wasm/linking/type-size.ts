import { ToolPreparationError } from "../../contract/sandbox.ts";
import { casesOf, type FunctionType, fieldsOf, type ValueType } from "./value-type.ts";

/** Limits of one type when it is written out, because a few bytes can describe a type of exponential size. */
const MAX_PARTS = 10_000;
const MAX_DEPTH = 100;

/** The size of a type when it is written out, and whether it can be. */
export interface TypeSize {
  readonly parts: number;
  readonly depth: number;
  /** The length of all names. A name that the binary has once is written out for each use of its type. */
  readonly nameLength: number;
  /** The first type in it whose values cannot be passed. */
  readonly unsupported: string | undefined;
}

const NOTHING: TypeSize = { parts: 1, depth: 0, nameLength: 0, unsupported: undefined };

const sizes = new WeakMap<ValueType, TypeSize>();

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
