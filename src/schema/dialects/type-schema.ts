import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Draft } from "../keywords.ts";
import { type TypeExpression, TypeExpressionError } from "./type-expression.ts";

/** The meaning of a type name. The last seven take arguments. */
type Meaning =
  | "string"
  | "integer"
  | "number"
  | "boolean"
  | "null"
  | "any"
  | "enum"
  | "array"
  | "tuple"
  | "object"
  | "optional"
  | "union"
  | "literal"
  | "wrapper";

/** A source of type names other than JSON Schema's. */
export type SchemaDialect = "json" | "python" | "java" | "javascript" | "systems" | "sql" | "gemini";

/**
 * The type names of each dialect, by meaning. Names are looked up without their package, ignoring case. If two dialects
 * disagree, the first one wins. A type is mapped to the JSON type only, without a format or range.
 */
export const DIALECTS: Readonly<Record<SchemaDialect, Readonly<Partial<Record<Meaning, string>>>>> = {
  json: {
    string: "string strings text",
    integer: "integer integers",
    number: "number numbers numeric",
    boolean: "boolean booleans",
    null: "null",
    array: "array arrays",
    object: "object objects",
    any: "any anything json",
    enum: "enum choice",
  },
  python: {
    string: "str bytes bytearray unicode path purepath date datetime time timedelta uuid ellipsistype",
    integer: "int",
    number: "float decimal fraction",
    boolean: "bool",
    null: "none nonetype",
    array: "list set frozenset sequence mutablesequence iterable iterator collection deque ndarray",
    tuple: "tuple namedtuple",
    object: "dict mapping mutablemapping defaultdict ordereddict typeddict counter",
    optional: "optional notrequired",
    union: "union",
    literal: "literal",
    wrapper: "annotated final required classvar",
  },
  java: {
    string:
      "char character charsequence stringbuilder localdate localtime localdatetime zoneddatetime instant url uri",
    integer: "int byte short long biginteger atomicinteger atomiclong",
    number: "float double bigdecimal",
    array:
      "list set collection iterable arraylist linkedlist vector stack queue priorityqueue arraydeque hashset linkedhashset treeset",
    object: "map hashmap linkedhashmap treemap concurrenthashmap hashtable dictionary properties",
  },
  javascript: {
    integer: "bigint",
    null: "undefined void",
    any: "unknown mixed",
    string: "date regexp symbol",
    array:
      "set readonlyarray uint8array int8array int16array uint16array int32array uint32array float32array",
    object: "map record weakmap",
    optional: "maybe nullable",
    wrapper: "readonly partial promise",
  },
  systems: {
    string: "str char bytes rune cstring wstring nsstring guid datetimeoffset bytestring string_view",
    integer: [
      "int long short byte i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize int8 int16 int32 int64 uint uint8 uint16 uint32",
      "uint64 int_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t sbyte ushort ulong",
      "uintptr nsinteger signed unsigned longlong fixed32 fixed64 sint32 sint64",
    ].join(" "),
    number: "float double decimal f32 f64 float32 float64 float16 single real cgfloat longdouble",
    boolean: "bool _bool",
    null: "nil nothing unit",
    any: "dynamic variant interface anyobject",
    array: "list vec vector set slice ienumerable ilist icollection ireadonlylist seq span",
    object:
      "map dictionary hashmap struct btreemap idictionary keyvaluepair unordered_map table hash message",
    optional: "option",
    wrapper: "box rc arc ref mut const",
  },
  sql: {
    string:
      "char date time datetime varchar nvarchar nchar longtext mediumtext tinytext clob timestamp timestamptz interval blob",
    integer: "int bigint smallint tinyint mediumint serial bigserial",
    number: "float double decimal",
    boolean: "bool",
    object: "jsonb",
  },
  gemini: { any: "type_unspecified" },
};

/** Type names of several words. */
const PHRASES: Readonly<Partial<Record<Meaning, readonly string[]>>> = {
  integer: [
    "unsigned int",
    "unsigned integer",
    "signed int",
    "long int",
    "long long",
    "unsigned long",
    "short int",
  ],
  number: ["double precision", "long double", "floating point"],
  string: ["character varying"],
};

const ANY: JsonObject = Object.freeze({});

/** The meanings of type names, and the draft of the schema. */
export interface TypeContext {
  readonly names: ReadonlyMap<string, Meaning>;
  readonly draft: Draft;
}

/**
 * Returns the JSON Schema of a type expression.
 *
 * @throws {TypeExpressionError} if a name is unknown or does not take such arguments.
 */
export function typeSchema(expression: TypeExpression, context: TypeContext): JsonObject {
  const schemaOf = (inner: TypeExpression): JsonObject => typeSchema(inner, context);
  switch (expression.kind) {
    case "list":
      return { type: "array", items: schemaOf(expression.item) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(expression.value) };
    case "tuple":
      return tupleSchema(expression.items, schemaOf, context.draft);
    case "union":
      return unionSchema(expression.options.map(schemaOf));
    case "literal":
      return { const: expression.value };
    case "rest":
      throw new TypeExpressionError("unexpected '...'");
    case "name": {
      const { name, args } = expression;
      const meaning = context.names.get(name.toLowerCase());
      if (meaning === undefined) throw new TypeExpressionError(`'${name.slice(0, 64)}' is not a known type`);
      if (meaning === "tuple") return tupleSchema(args, schemaOf, context.draft);
      return namedSchema(meaning, name, args, schemaOf);
    }
  }
}

function namedSchema(
  meaning: Exclude<Meaning, "tuple">,
  name: string,
  args: readonly TypeExpression[],
  schemaOf: (expression: TypeExpression) => JsonObject,
): JsonObject {
  const [first, second] = args;
  switch (meaning) {
    case "array":
      return first === undefined ? { type: "array" } : withItems(schemaOf(first));
    case "object": {
      const value = second ?? first;
      return value === undefined ? { type: "object" } : withValues(schemaOf(value));
    }
    case "literal":
    case "enum": {
      const values = args.map((arg): JsonValue => {
        if (arg.kind === "literal") return arg.value;
        if (meaning === "enum" && arg.kind === "name") return arg.name;
        throw new TypeExpressionError(`'${name}' takes literal values`);
      });
      if (values.length === 0) throw new TypeExpressionError(`'${name}' requires values`);
      return { enum: values };
    }
    case "optional":
      if (first === undefined) return ANY;
      return unionSchema([schemaOf(first), { type: "null" }]);
    case "union":
      if (args.length === 0) throw new TypeExpressionError(`'${name}' requires type arguments`);
      return unionSchema(args.map(schemaOf));
    case "wrapper":
      if (first === undefined) throw new TypeExpressionError(`'${name}' requires a type argument`);
      return schemaOf(first);
    case "any":
      return ANY;
    default:
      // The size in `varchar(20)` and `decimal(10, 2)` is dropped.
      if (args.some(({ kind }) => kind !== "literal")) {
        throw new TypeExpressionError(`'${name}' takes no type arguments`);
      }
      return { type: meaning };
  }
}

function withItems(items: JsonObject): JsonObject {
  return items === ANY ? { type: "array" } : { type: "array", items };
}

function withValues(values: JsonObject): JsonObject {
  return values === ANY ? { type: "object" } : { type: "object", additionalProperties: values };
}

/** `(int, str)` has two items; `(int, ...)` has any number of them. */
function tupleSchema(
  items: readonly TypeExpression[],
  schemaOf: (expression: TypeExpression) => JsonObject,
  draft: Draft,
): JsonObject {
  const isOpen = items.at(-1)?.kind === "rest";
  const schemas = (isOpen ? items.slice(0, -1) : items).map(schemaOf);
  if (isOpen && schemas.length === 1) return withItems(schemas[0] ?? ANY);
  if (schemas.length === 0) return { type: "array" };
  const { length } = schemas;
  const first = draft === "draft-07" ? { items: schemas } : { prefixItems: schemas };
  return { type: "array", ...first, minItems: length, ...(!isOpen && { maxItems: length }) };
}

/** Returns a schema that accepts what at least one of these accepts. */
export function unionSchema(options: readonly JsonObject[]): JsonObject {
  if (options.some((option) => Object.keys(option).length === 0)) return ANY;
  const types = options.flatMap(({ type }) => (type === undefined ? [] : [type].flat()));
  if (options.every((option) => Object.keys(option).length === 1 && option["type"] !== undefined)) {
    const [only, ...others] = new Set(types);
    return { type: others.length === 0 ? (only ?? "null") : [only ?? "null", ...others] };
  }
  const values = options.map((option) => option["const"]);
  if (values.every((value) => value !== undefined)) return { enum: values };
  return { anyOf: [...options] };
}

/** Returns the meanings of the type names of some dialects. */
export function typeNames(dialects: readonly SchemaDialect[]): ReadonlyMap<string, Meaning> {
  const names = new Map<string, Meaning>();
  const add = (meaning: string, list: readonly string[]): void => {
    for (const name of list) if (!names.has(name)) names.set(name, meaning as Meaning);
  };
  for (const dialect of dialects) {
    for (const [meaning, list] of Object.entries(DIALECTS[dialect])) add(meaning, list.split(" "));
  }
  for (const [meaning, list] of Object.entries(PHRASES)) add(meaning, list);
  return names;
}
