/** The meaning of a type name. The last seven take arguments. */
export type Meaning =
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
