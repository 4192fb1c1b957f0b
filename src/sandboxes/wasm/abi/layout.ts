import { casesOf, fieldsOf, type ValueType } from "../linking/value-type.ts";

/** The types of core WebAssembly that values are passed as. */
export type CoreType = "i32" | "i64" | "f32" | "f64";

/** The layout of a type in memory and as core values (`CanonicalABI.md`, alignment, size, flattening). */
export interface Layout {
  /** In bytes: 1, 2, 4 or 8. */
  readonly alignment: number;
  /** In bytes. */
  readonly size: number;
  /** The types of its core values, in order. Incomplete if there are more than {@link MAX_FLAT}. */
  readonly flat: readonly CoreType[];
  /** For a type with cases, the size of the case index in bytes. */
  readonly discriminantBytes: 1 | 2 | 4;
  /** For a type with cases, the offset of the payload in bytes. */
  readonly payloadOffset: number;
}

/** The maximum size of a string or a list in a component's memory, in bytes (`MAX_LIST_BYTE_LENGTH`). */
export const MAX_BYTES: number = 2 ** 28 - 1;

/** Parameters with more core values than this are passed through memory. */
export const MAX_FLAT = 16;

const layouts = new WeakMap<ValueType, Layout>();

/** Returns the layout of a type. */
export function layoutOf(type: ValueType): Layout {
  const known = layouts.get(type);
  if (known !== undefined) return known;
  const layout = computeLayout(type);
  layouts.set(type, layout);
  return layout;
}

function computeLayout(type: ValueType): Layout {
  const cases = casesOf(type);
  if (cases !== undefined) return variantLayout(cases);
  const fields = fieldsOf(type);
  if (fields !== undefined) return recordLayout(fields);
  switch (type.kind) {
    case "bool":
    case "s8":
    case "u8":
      return scalar(1, ["i32"]);
    case "s16":
    case "u16":
      return scalar(2, ["i32"]);
    case "s64":
    case "u64":
      return scalar(8, ["i64"]);
    case "f32":
      return scalar(4, ["f32"]);
    case "f64":
      return scalar(8, ["f64"]);
    case "string":
    case "list":
      return { ...scalar(4, ["i32", "i32"]), size: 8 };
    case "flags":
      return scalar(type.names.length <= 8 ? 1 : type.names.length <= 16 ? 2 : 4, ["i32"]);
    default:
      return scalar(4, ["i32"]);
  }
}

function scalar(size: number, flat: readonly CoreType[]): Layout {
  return { alignment: size, size, flat, discriminantBytes: 1, payloadOffset: 0 };
}

function recordLayout(fields: readonly ValueType[]): Layout {
  let size = 0;
  let alignment = 1;
  const flat: CoreType[] = [];
  for (const field of fields) {
    const layout = layoutOf(field);
    alignment = Math.max(alignment, layout.alignment);
    size = alignUp(size, layout.alignment) + layout.size;
    if (flat.length <= MAX_FLAT) flat.push(...layout.flat);
  }
  return { ...scalar(alignUp(size, alignment), flat), alignment };
}

function variantLayout(cases: readonly (ValueType | undefined)[]): Layout {
  const discriminantBytes = cases.length <= 0x100 ? 1 : cases.length <= 0x1_0000 ? 2 : 4;
  let size = 0;
  let alignment = 1;
  const payload: CoreType[] = [];
  for (const each of cases) {
    if (each === undefined) continue;
    const layout = layoutOf(each);
    size = Math.max(size, layout.size);
    alignment = Math.max(alignment, layout.alignment);
    for (const [index, core] of layout.flat.entries()) payload[index] = join(payload[index], core);
  }
  const payloadOffset = alignUp(discriminantBytes, alignment);
  alignment = Math.max(alignment, discriminantBytes);
  return {
    alignment,
    size: alignUp(payloadOffset + size, alignment),
    flat: ["i32", ...payload],
    discriminantBytes,
    payloadOffset,
  };
}

/** Returns the core type that can represent both of two types. */
function join(a: CoreType | undefined, b: CoreType): CoreType {
  if (a === undefined || a === b) return b;
  return a !== "i64" && a !== "f64" && b !== "i64" && b !== "f64" ? "i32" : "i64";
}

/** Rounds an address up to a multiple of an alignment. */
export function alignUp(at: number, alignment: number): number {
  return Math.ceil(at / alignment) * alignment;
}
