import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json/value.ts";

/** A map with known keys, somewhere in a schema. */
export interface Section {
  /** Where it is: `tools[].host`, or `mcp.servers.NAME` for the values of a map. */
  readonly path: string;
  readonly keys: readonly Key[];
}

/** A key of a map. */
export interface Key {
  /** `NAME` stands for all keys that are not known. */
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

const COMPOSED = ["anyOf", "oneOf", "then", "else"];

/** The alternatives of a schema, in its order. */
export function alternatives(schema: JsonObject): readonly JsonObject[] {
  return COMPOSED.flatMap((name) => schema[name]).filter(isJsonObject);
}

/** Resolves a reference to a definition. The schema's own description takes the place of that of the definition. */
export function resolve(schema: JsonObject, definitions: JsonObject): JsonObject {
  const { $ref, ...own } = schema;
  if (typeof $ref !== "string") return schema;
  return { ...(definitions[$ref.replace("#/$defs/", "")] as JsonObject), ...own };
}

/** Returns the maps that a value of a schema is or directly contains, such as the items of a list. */
export function sectionsIn(schema: JsonObject, path: string, definitions: JsonObject): readonly Section[] {
  const found = new Map<string, Forms>();
  const visit = (given: JsonObject, at: string): void => {
    const whole = resolve(given, definitions);
    const { items, additionalProperties: others } = whole;
    const known = Object.entries((whole["properties"] ?? {}) as JsonObject).filter(isAllowed);
    if (known.length > 0) {
      const forms = found.get(at) ?? new Forms();
      found.set(at, forms);
      forms.add([...known, ...(isJsonObject(others) ? [["NAME", others] as const] : [])], whole["required"]);
    } else if (isJsonObject(others)) visit(others, `${at}.NAME`);
    if (isJsonObject(items)) visit(items, `${at}[]`);
    for (const each of alternatives(whole)) visit(each, at);
  };
  visit(schema, path);
  return [...found].map(([at, forms]) => ({ path: at, keys: forms.keys() }));
}

/** A member that one form of a map forbids is described where another form allows it. */
function isAllowed(entry: readonly [string, JsonValue | undefined]): entry is [string, JsonObject] {
  return isJsonObject(entry[1]) && JSON.stringify(entry[1]["not"]) !== "{}";
}

/** The keys of a map that can have several forms, such as the grant of a directory or of a file. */
class Forms {
  readonly #schemas = new Map<string, JsonObject[]>();
  readonly #required: ReadonlySet<JsonValue>[] = [];

  add(known: readonly (readonly [string, JsonObject])[], required: JsonValue = []): void {
    this.#required.push(new Set(required as readonly JsonValue[]));
    for (const [name, schema] of known) {
      const schemas = this.#schemas.get(name) ?? [];
      this.#schemas.set(name, schemas);
      if (!schemas.some((other) => JSON.stringify(other) === JSON.stringify(schema))) schemas.push(schema);
    }
  }

  keys(): readonly Key[] {
    return Array.from(this.#schemas, ([name, [first = {}, ...others]]) => ({
      name,
      schema:
        others.length === 0
          ? first
          : { description: first["description"] as string, anyOf: [first, ...others] },
      isRequired: this.#required.every((names) => names.has(name)),
    }));
  }
}
