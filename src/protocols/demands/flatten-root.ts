import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** A root that is one plain object, and the keywords that it no longer has. */
export interface FlatRoot {
  readonly schema: JsonObject;
  readonly dropped: JsonObject;
}

/** The keywords that providers reject at the root. */
const COMBINING = [
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "enum",
  "const",
  "dependentSchemas",
];
const MAX_NESTING = 16;
const MAX_FOLLOWED = 1_000;

interface Parts {
  readonly properties: Map<string, JsonValue>;
  readonly required: Set<string>;
}

/**
 * Returns a root without alternatives: it has the properties of all of them, described as in those that name them, and
 * requires what each of them requires. Returns `undefined` if the root accepts no objects.
 *
 * @param follow Returns what a reference names.
 */
export function flattenRoot(
  root: JsonObject,
  follow: (reference: string) => JsonValue | undefined,
): FlatRoot | undefined {
  let followed = 0;
  // References in alternatives multiply. Beyond this number, they allow everything.
  const find: typeof follow = (reference) => (++followed > MAX_FOLLOWED ? undefined : follow(reference));
  const schema = resolve(root, find, 0);
  if (schema === undefined || !mayBeObject(schema)) return undefined;
  const used = COMBINING.filter((keyword) => schema[keyword] !== undefined);
  if (used.length === 0 && schema === root) return { schema, dropped: {} };
  const parts = partsOf(schema, find, 0);
  if (parts === undefined) return undefined;
  const others = Object.entries(schema).filter(([keyword]) => !used.includes(keyword));
  // Closing the object over the properties of all alternatives would forbid properties that were allowed.
  const isClosed = schema["additionalProperties"] === false && used.length > 0;
  const flat: Record<string, JsonValue> = {
    ...Object.fromEntries(others as [string, JsonValue][]),
    type: "object",
    properties: Object.fromEntries(parts.properties),
    ...(parts.required.size > 0 && { required: [...parts.required] }),
  };
  if (isClosed) delete flat["additionalProperties"];
  // An `allOf` that only lists properties is merged without loss.
  const dropped = used.filter((keyword) => keyword !== "allOf" || !isMerged(schema[keyword]));
  return {
    schema: flat,
    dropped: Object.fromEntries(dropped.map((keyword) => [keyword, schema[keyword] ?? null])),
  };
}

function isMerged(allOf: JsonValue | undefined): boolean {
  const plain = new Set(["type", "properties", "required", "title", "description"]);
  return (
    Array.isArray(allOf) &&
    allOf.every((each) => isJsonObject(each) && Object.keys(each).every((key) => plain.has(key)))
  );
}

/** Follows the reference of a root. Returns `undefined` if it accepts no value. */
function resolve(
  schema: JsonValue | undefined,
  find: (reference: string) => JsonValue | undefined,
  depth: number,
): JsonObject | undefined {
  if (schema === true) return {};
  if (!isJsonObject(schema)) return undefined;
  const { $ref: reference, ...others } = schema;
  if (typeof reference !== "string" || depth > MAX_NESTING) return schema;
  const target = resolve(find(reference) ?? true, find, depth + 1);
  return target === undefined ? undefined : { ...target, ...others };
}

function mayBeObject({ type }: JsonObject): boolean {
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** Collects properties, and what is required in any case. Returns `undefined` if no object is accepted. */
function partsOf(
  given: JsonValue | undefined,
  find: (reference: string) => JsonValue | undefined,
  depth: number,
): Parts | undefined {
  const schema = resolve(given, find, depth);
  if (schema === undefined || !mayBeObject(schema)) return undefined;
  const { properties, required } = schema;
  const parts: Parts = {
    properties: new Map(Object.entries(isJsonObject(properties) ? properties : {}) as [string, JsonValue][]),
    required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []),
  };
  if (depth > MAX_NESTING) return parts;
  for (const member of listOf(schema["allOf"])) {
    const inner = partsOf(member, find, depth + 1);
    if (inner === undefined) return undefined;
    addProperties(parts, inner, "allOf");
    for (const name of inner.required) parts.required.add(name);
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    if (schema[keyword] === undefined) continue;
    const members = listOf(schema[keyword]).flatMap((member) => partsOf(member, find, depth + 1) ?? []);
    if (members.length === 0) return undefined;
    const before = new Set(parts.properties.keys());
    for (const inner of members) {
      addProperties(parts, { ...inner, properties: without(inner.properties, before) }, "anyOf");
    }
    for (const name of members[0]?.required ?? []) {
      if (members.every((inner) => inner.required.has(name))) parts.required.add(name);
    }
  }
  const dependent = schema["dependentSchemas"];
  for (const member of [
    schema["then"],
    schema["else"],
    ...Object.values(isJsonObject(dependent) ? dependent : {}),
  ]) {
    const inner = member === undefined ? undefined : partsOf(member, find, depth + 1);
    if (inner !== undefined) {
      addProperties(
        parts,
        { ...inner, properties: without(inner.properties, new Set(parts.properties.keys())) },
        "anyOf",
      );
    }
  }
  return parts;
}

/** Leaves out the properties of the schema itself, which apply to each alternative. */
function without(properties: Map<string, JsonValue>, names: ReadonlySet<string>): Map<string, JsonValue> {
  return new Map([...properties].filter(([name]) => !names.has(name)));
}

function addProperties(parts: Parts, { properties }: Parts, keyword: "allOf" | "anyOf"): void {
  for (const [name, schema] of properties) {
    const known = parts.properties.get(name);
    if (known === undefined) parts.properties.set(name, schema);
    else if (!equalJson(known, schema)) parts.properties.set(name, join(known, schema, keyword));
  }
}

function join(known: JsonValue, schema: JsonValue, keyword: "allOf" | "anyOf"): JsonValue {
  const isList = isJsonObject(known) && Object.keys(known).join() === keyword;
  const members = isList ? listOf((known as JsonObject)[keyword]) : [known];
  return members.some((member) => equalJson(member, schema)) ? known : { [keyword]: [...members, schema] };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
