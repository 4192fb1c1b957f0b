import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { findExcess, measureSchema, type SchemaSize, type StrictSubset } from "./subsets.ts";

/** Why a part of a schema has no strict form. */
export interface SchemaProblem {
  readonly path: string;
  readonly reason: string;
}

/** A schema in strict form, or all reasons why it cannot be written in that form. */
export type StrictSchema =
  | { readonly schema: JsonObject; readonly size: SchemaSize }
  | { readonly problems: readonly SchemaProblem[] };

/**
 * Keywords that only bound a value. Models mostly respect them in a description, and arguments are validated anyway.
 */
const BOUNDS: readonly string[] = [
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "default",
];

/** Keywords that cannot be expressed. */
const UNSUPPORTED: readonly string[] = [
  "not",
  "if",
  "then",
  "else",
  "patternProperties",
  "propertyNames",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contains",
  "prefixItems",
  "additionalItems",
  "$dynamicRef",
  "$recursiveRef",
];

/** Keywords that describe the structure of a value. */
const STRUCTURE: readonly string[] = ["type", "properties", "required", "items", "enum", "const"];

/** Keywords that combine other schemas. */
const COMBINING: readonly string[] = ["$ref", "allOf", "anyOf", "oneOf"];

const LOCAL_REFERENCE = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/**
 * Rewrites a schema into a provider's strict subset if that keeps its meaning. Objects are closed, and unsupported
 * bounds are added to the description. Arguments are always validated against the original schema.
 */
export function toStrictSchema(schema: JsonObject, subset: StrictSubset): StrictSchema {
  const rewriter = new Rewriter(subset);
  const strict = rewriter.root(schema);
  if (rewriter.problems.length > 0) return { problems: rewriter.problems };
  const size = measureSchema(strict);
  const excess = findExcess(size, subset.tool);
  return excess === undefined
    ? { schema: strict, size }
    : { problems: [{ path: "", reason: `it has ${excess}` }] };
}

class Rewriter {
  readonly problems: SchemaProblem[] = [];
  readonly #subset: StrictSubset;

  constructor(subset: StrictSubset) {
    this.#subset = subset;
  }

  root(schema: JsonObject): JsonObject {
    const combined = COMBINING.find((keyword) => schema[keyword] !== undefined);
    if (combined !== undefined)
      return this.#refuse(`/${combined}`, "the root must not combine other schemas");
    if (typesOf(schema).join() !== "object") this.#refuse("", "the root must have the type object only");
    if (!this.#subset.takesRecursion && isRecursive(schema)) this.#refuse("", "it is recursive");
    const strict = this.#schema(schema, "", 1);
    const definitions = ["$defs", "definitions"].flatMap((keyword) =>
      Object.entries(asObject(schema[keyword])).map(([name, definition]): [string, JsonObject] => [
        name,
        this.#schema(definition, `/${keyword}/${escapePointer(name)}`, 1),
      ]),
    );
    return definitions.length === 0 ? strict : { ...strict, $defs: Object.fromEntries(definitions) };
  }

  #schema(schema: JsonValue | undefined, path: string, depth: number): JsonObject {
    if (!isJsonObject(schema)) return this.#refuse(path, "it is missing or a boolean: it needs a type");
    if (depth > this.#subset.maxDepth) {
      return this.#refuse(path, `it is nested deeper than ${this.#subset.maxDepth} levels`);
    }
    for (const keyword of UNSUPPORTED) {
      if (schema[keyword] !== undefined) this.#refuse(`${path}/${keyword}`, `'${keyword}' is not supported`);
    }
    const combined = COMBINING.find((keyword) => schema[keyword] !== undefined);
    const strict =
      combined === undefined
        ? this.#typed(schema, path, depth)
        : this.#combined(combined, schema, path, depth);
    return annotate(strict, schema);
  }

  /** Rewrites a schema that combines other schemas. */
  #combined(keyword: string, schema: JsonObject, path: string, depth: number): JsonObject {
    const at = `${path}/${keyword}`;
    const others = [...STRUCTURE, "additionalProperties", ...COMBINING];
    const other = others.find((name) => name !== keyword && schema[name] !== undefined);
    if (other !== undefined)
      return this.#refuse(at, `'${keyword}' together with '${other}' is not supported`);
    const value = schema[keyword];
    if (keyword === "$ref") return this.#reference(value, at);
    const members = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
    const written = members.map((member, index) => this.#schema(member, `${at}/${index}`, depth));
    // No value matches an empty list, and providers reject the request.
    if (written.length === 0) return this.#refuse(at, `'${keyword}' must list at least one schema`);
    if (keyword !== "allOf") return { anyOf: written };
    return written.length === 1 && written[0] !== undefined
      ? written[0]
      : this.#refuse(at, "'allOf' of several schemas is not supported");
  }

  #reference(reference: JsonValue | undefined, path: string): JsonObject {
    if (reference === "#") return { $ref: "#" };
    const name = typeof reference === "string" ? LOCAL_REFERENCE.exec(reference)?.[1] : undefined;
    if (name === undefined) return this.#refuse(path, "only references to #/$defs are supported");
    return { $ref: `#/$defs/${name}` };
  }

  #typed(schema: JsonObject, path: string, depth: number): JsonObject {
    const types = typesOf(schema);
    const literals = literalsOf(schema);
    if (types.length === 0) return this.#refuse(path, "it has no type");
    if (literals?.some((literal) => typeof literal === "object" && literal !== null)) {
      this.#refuse(path, "an enum of lists or objects is not supported");
    }
    // Several types become alternatives, so that each can have the keywords that apply to it.
    const written = types.flatMap((type) => this.#single(type, schema, literals, path, depth));
    const [only, ...others] = written;
    if (only === undefined) return this.#refuse(path, "no value has its type and one of its literals");
    if (others.length > 0) return { anyOf: written };
    const taken = BOUNDS.flatMap((bound): [string, JsonValue][] => {
      const limit = schema[bound];
      return limit !== undefined && this.#takes(bound, limit) ? [[bound, limit]] : [];
    });
    return { ...only, ...Object.fromEntries(taken) };
  }

  /** Returns the schema of one type; none if no literal has that type. */
  #single(
    type: JsonValue,
    schema: JsonObject,
    literals: readonly JsonValue[] | undefined,
    path: string,
    depth: number,
  ): readonly JsonObject[] {
    const own = literals?.filter((literal) => isOfType(literal, type));
    if (own?.length === 0) return [];
    return [
      {
        type,
        ...(own !== undefined && { enum: own }),
        ...(type === "object" && this.#object(schema, path, depth)),
        ...(type === "array" && { items: this.#schema(schema["items"], `${path}/items`, depth + 1) }),
      },
    ];
  }

  #object(schema: JsonObject, path: string, depth: number): JsonObject {
    const { additionalProperties = false } = schema;
    if (additionalProperties !== false) {
      this.#refuse(`${path}/additionalProperties`, "additional properties are not supported");
    } else if (
      path !== "" &&
      schema["properties"] === undefined &&
      schema["additionalProperties"] !== false
    ) {
      this.#refuse(path, "an object without named properties is not supported");
    }
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    // Assigning would not work for a property named `__proto__`.
    const properties = Object.fromEntries(
      Object.entries(asObject(schema["properties"])).map(([name, property]) => {
        const strict = this.#schema(property, `${path}/properties/${escapePointer(name)}`, depth + 1);
        return [name, this.#subset.requiresAll && !required.has(name) ? nullable(strict) : strict];
      }),
    );
    const unnamed = [...required].find((name) => !Object.hasOwn(properties, String(name)));
    if (unnamed !== undefined)
      this.#refuse(`${path}/required`, "it requires a property that it does not define");
    const names = Object.keys(properties);
    return {
      properties,
      required: this.#subset.requiresAll ? names : names.filter((name) => required.has(name)),
      additionalProperties: false,
    };
  }

  #takes(bound: string, limit: JsonValue): boolean {
    if (bound === "format") return this.#subset.formats.has(String(limit));
    // Anthropic supports only 0 and 1 for `minItems`.
    return this.#subset.bounds.has(bound) || this.#subset.bounds.has(`${bound}: ${limit}`);
  }

  #refuse(path: string, reason: string): JsonObject {
    this.problems.push({ path, reason });
    return {};
  }
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the types of a schema: those of `type`, or those that its other keywords imply. */
function typesOf(schema: JsonObject): readonly JsonValue[] {
  const { type, properties, items } = schema;
  if (Array.isArray(type)) return type;
  if (type !== undefined) return [type];
  if (properties !== undefined) return ["object"];
  if (items !== undefined) return ["array"];
  return [...new Set(literalsOf(schema)?.map((literal) => (literal === null ? "null" : typeof literal)))];
}

/** Returns the values that `enum` or `const` allow; `undefined` without either. */
function literalsOf({ enum: values, const: value }: JsonObject): readonly JsonValue[] | undefined {
  if (Array.isArray(values)) return values;
  return value === undefined ? undefined : [value];
}

/** Returns whether a scalar has a JSON Schema type. */
function isOfType(value: JsonValue, type: JsonValue): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** Makes the schema of an optional value accept null, which stands for a missing value in strict mode. */
function nullable({ description, ...schema }: JsonObject): JsonObject {
  const described = description === undefined ? {} : { description };
  const alternatives = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly JsonObject[]) : [schema];
  const takesNull = alternatives.some(({ type }) => type === "null");
  return { ...described, anyOf: takesNull ? alternatives : [...alternatives, { type: "null" }] };
}

/** Adds the title and description to a rewritten schema, and the unsupported bounds to the description. */
function annotate(strict: JsonObject, schema: JsonObject): JsonObject {
  const { title, description } = schema;
  const bounds = BOUNDS.flatMap((bound) => {
    const limit = schema[bound];
    return limit === undefined || strict[bound] !== undefined ? [] : [`${bound}: ${JSON.stringify(limit)}`];
  });
  const texts = [
    ...(typeof description === "string" && description !== "" ? [description] : []),
    ...(bounds.length > 0 ? [`(${bounds.join(", ")})`] : []),
  ];
  const annotations = {
    ...(typeof title === "string" && { title }),
    ...(texts.length > 0 && { description: texts.join(" ") }),
  };
  if (Object.keys(annotations).length === 0) return strict;
  // A reference must not have siblings.
  return strict["$ref"] === undefined ? { ...strict, ...annotations } : { anyOf: [strict], ...annotations };
}

/** Returns whether a schema refers to itself, directly or through its definitions. */
function isRecursive(schema: JsonObject): boolean {
  const definitions = new Map<string, ReadonlySet<string>>([["#", referencesOf(withoutDefinitions(schema))]]);
  for (const keyword of ["$defs", "definitions"]) {
    const group = schema[keyword];
    if (!isJsonObject(group)) continue;
    for (const [name, definition] of Object.entries(group)) {
      definitions.set(`#/${keyword}/${escapePointer(name)}`, referencesOf(definition));
    }
  }
  // Removes definitions that do not refer to other definitions. Those that remain refer to each other in
  // cycles.
  for (let removed = true; removed; ) {
    removed = false;
    for (const [name, references] of definitions) {
      if ([...references].some((reference) => definitions.has(reference))) continue;
      definitions.delete(name);
      removed = true;
    }
  }
  return definitions.size > 0;
}

function withoutDefinitions(schema: JsonObject): JsonObject {
  const { $defs: _, definitions: __, ...rest } = schema;
  return rest;
}

/** Returns every `$ref` in a tree. A property named `$ref` counts, too, which only makes the result more cautious. */
function referencesOf(tree: JsonValue | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== "object" || node === null) continue;
    if (isJsonObject(node) && typeof node["$ref"] === "string") found.add(node["$ref"]);
    for (const child of Object.values(node)) waiting.push(child);
  }
  return found;
}
