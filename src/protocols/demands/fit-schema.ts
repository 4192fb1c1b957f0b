import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { SchemaDemands } from "./demands.ts";
import { type FlatRoot, flattenRoot } from "./flatten-root.ts";

/**
 * A schema that a provider accepts. It accepts what the tool's own schema accepts, which arguments are always validated against.
 * Of alternatives at the root, each property is described as in those that name it.
 */
export interface FittedSchema {
  readonly schema: JsonObject;
  /** Rules that the schema no longer has, as text for the tool's description. */
  readonly rules: string;
  /** Whether there are more rules, which are too long for a description. */
  readonly lacksRules: boolean;
  /** Whether the arguments are the member `input` of an object, since they are not an object themselves. */
  readonly isWrapped: boolean;
}

/** Maximum number of schemas in one that is offered. References are replaced by copies, which multiply. */
const MAX_SCHEMAS = 20_000;

const MAX_RULES = 2_000;

/** Thrown if no schema that the provider accepts describes what a tool takes. */
export class UnofferableSchema extends Error {}

/** Keywords with one schema, with a list of them, and with schemas by name. */
const ONE = new Set([
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "additionalProperties",
]);

const LISTS = new Set(["anyOf", "oneOf", "allOf"]);

const MAPS = new Set(["patternProperties", "dependentSchemas"]);

/** Keywords that are written together with other keywords, or that only give a schema another name. */
const APART = new Set([
  "properties",
  "required",
  "items",
  "prefixItems",
  "additionalItems",
  "$ref",
  "$defs",
  "definitions",
  "$id",
  "$anchor",
  "$schema",
  "$comment",
  "$dynamicAnchor",
  "$dynamicRef",
  "$recursiveRef",
  "$recursiveAnchor",
]);

/** Keywords that only describe. A provider that does not know them loses nothing. */
const ANNOTATIONS = new Set([
  "title",
  "description",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "nullable",
  "contentEncoding",
]);

/**
 * Rewrites the schema of a tool into one that a provider accepts.
 *
 * @throws {UnofferableSchema} if that is not possible.
 */
export function fitSchema(schema: JsonObject, demands: SchemaDemands): FittedSchema {
  const fitter = new Fitter(schema, demands);
  const flat = flattenRoot(schema, (reference) => fitter.references.find(reference));
  const wrapped = flat === undefined;
  const root: FlatRoot = flat ?? {
    schema: { type: "object", properties: { input: schema }, required: ["input"] },
    dropped: {},
  };
  const written = fitter.write(root.schema, []);
  const dropped = { ...root.dropped } as Record<string, JsonValue>;
  const accepted: Record<string, JsonValue> = {};
  for (const [keyword, value = null] of Object.entries({ ...written, ...fitter.definitions() })) {
    if (demands.root === undefined || demands.root.has(keyword)) accepted[keyword] = value;
    else if (!ANNOTATIONS.has(keyword)) dropped[keyword] = value;
  }
  const text = Object.keys(dropped).length === 0 ? "" : JSON.stringify(dropped);
  return {
    schema: { ...accepted, type: "object" },
    rules:
      text === "" || text.length > MAX_RULES ? "" : `The arguments must also match the JSON Schema ${text}`,
    lacksRules: text.length > MAX_RULES,
    isWrapped: wrapped,
  };
}

class Fitter {
  readonly references: References;
  readonly #demands: SchemaDemands;
  /** The definitions that are referred to, which are written at their first reference. */
  readonly #definitions = new Map<string, JsonObject>();
  #count = 0;
  /** How often a schema was written that accepts more than the tool's own. */
  #widened = 0;
  readonly #widenedDefinitions = new Set<string>();

  constructor(root: JsonObject, demands: SchemaDemands) {
    this.references = new References(root);
    this.#demands = demands;
  }

  definitions(): JsonObject {
    return this.#definitions.size === 0 ? {} : { $defs: Object.fromEntries(this.#definitions) };
  }

  /** @param inside The references that led here. */
  write(value: JsonValue | undefined, inside: readonly string[]): JsonObject {
    if (++this.#count > MAX_SCHEMAS) {
      throw new UnofferableSchema(`it has more than ${MAX_SCHEMAS} schemas once references are replaced`);
    }
    if (!isJsonObject(value)) return value === false ? this.#nothing() : {};
    const reference = value["$ref"] ?? value["$dynamicRef"] ?? value["$recursiveRef"];
    if (typeof reference === "string") return this.#reference(reference, value, inside);
    return this.#keywords(value, inside);
  }

  /** The schema of no value. */
  #nothing(): JsonObject {
    if (this.#takes("not")) return { not: {} };
    this.#widened++;
    return { description: "No value is valid here." };
  }

  #takes(keyword: string): boolean {
    return this.#demands.keywords === undefined || this.#demands.keywords.has(keyword);
  }

  #reference(reference: string, schema: JsonObject, inside: readonly string[]): JsonObject {
    const { $ref: _, $dynamicRef: __, $recursiveRef: ___, ...others } = schema;
    const target = this.references.find(reference);
    if (target === undefined) return this.#keywords(others, inside);
    const name = this.references.nameOf(reference);
    if (this.#demands.references && name !== undefined) {
      if (!this.#definitions.has(name)) {
        // Set first, as the definition may refer to itself.
        this.#definitions.set(name, {});
        const before = this.#widened;
        this.#definitions.set(name, this.write(target, inside));
        if (this.#widened > before) this.#widenedDefinitions.add(name);
      } else if (this.#widenedDefinitions.has(name)) this.#widened++;
      return { $ref: `#/$defs/${escapeName(name)}`, ...this.#keywords(others, inside) };
    }
    if (inside.includes(reference)) {
      this.#widened++;
      const type = isJsonObject(target) ? target["type"] : undefined;
      const described = { description: `The same as the schema around it (${reference}).` };
      return this.#keywords({ ...(type !== undefined && { type }), ...described, ...others }, inside);
    }
    const copy: JsonValue = isJsonObject(target) ? { ...target, ...others } : target;
    return this.write(copy, [...inside, reference]);
  }

  #keywords(given: JsonObject, around: readonly string[]): JsonObject {
    const written: Record<string, JsonValue> = {};
    const lost: string[] = [];
    const inside = [...around];
    const schema = this.#takes("allOf") ? given : this.#merged(given, inside);
    for (const [keyword, value = null] of Object.entries(normalized(schema))) {
      if (APART.has(keyword)) continue;
      const rewritten = this.#keyword(keyword, value, inside, schema);
      if (rewritten !== undefined) Object.assign(written, rewritten);
      else if (!ANNOTATIONS.has(keyword)) lost.push(`${keyword}: ${JSON.stringify(value)}`);
    }
    Object.assign(written, this.#properties(schema, inside), this.#items(schema, inside, lost));
    this.#widened += lost.length;
    return describe(written, lost);
  }

  /**
   * Returns a schema with what its `allOf` says, as far as one schema can say it.
   *
   * @param inside The references that led here. Those that are followed are added.
   */
  #merged({ allOf, ...own }: JsonObject, inside: string[]): JsonObject {
    if (!Array.isArray(allOf)) return own;
    this.#widened++;
    const merged: Record<string, JsonValue> = { ...(own as Record<string, JsonValue>) };
    for (const each of allOf) {
      const reference = isJsonObject(each) ? each["$ref"] : undefined;
      if (typeof reference === "string" && inside.includes(reference)) continue;
      if (typeof reference === "string") inside.push(reference);
      const found = typeof reference === "string" ? this.references.find(reference) : each;
      if (!isJsonObject(found)) continue;
      const { properties, required, additionalProperties: _, ...others } = this.#merged(found, inside);
      for (const [keyword, value = null] of Object.entries(others)) merged[keyword] ??= value;
      merged["properties"] = { ...asObject(properties), ...asObject(merged["properties"]) };
      const names = [merged["required"], required].flatMap((list) => (Array.isArray(list) ? list : []));
      if (names.length > 0) merged["required"] = [...new Set(names as JsonValue[])];
    }
    // Each schema of an `allOf` forbids other properties than its own: together, they cannot.
    delete merged["additionalProperties"];
    return merged;
  }

  /** Returns what a keyword becomes; `undefined` if the provider does not accept it. */
  #keyword(
    keyword: string,
    value: JsonValue,
    inside: readonly string[],
    schema: JsonObject,
  ): JsonObject | undefined {
    const list = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
    if (keyword === "const" && !this.#takes(keyword)) return this.#enum([value]);
    if (keyword === "enum") return list.length === 0 ? this.#nothing() : this.#enum(list);
    if (keyword === "description" && typeof value === "string" && value.trim() === "") return {};
    if (keyword === "format" && this.#demands.formats?.has(String(value)) === false) return undefined;
    if (!this.#takes(keyword)) return undefined;
    const before = this.#widened;
    if (LISTS.has(keyword)) {
      const written = this.#each(list, inside);
      if (keyword !== "oneOf" || this.#widened === before) return { [keyword]: written };
      // Of alternatives that accept more, a value may match several.
      return this.#takes("anyOf") && schema["anyOf"] === undefined ? { anyOf: written } : undefined;
    }
    if (ONE.has(keyword)) {
      const written = typeof value === "boolean" ? value : this.write(value, inside);
      // What accepts more than it should here has the whole schema accept less. Without `if`, the others do not count.
      const isOpposite = keyword === "not" || keyword === "if";
      return isOpposite && this.#widened > before ? undefined : { [keyword]: written };
    }
    if (MAPS.has(keyword) && isJsonObject(value)) {
      const entries = Object.entries(value).map(([name, inner]) => [name, this.write(inner, inside)]);
      return { [keyword]: Object.fromEntries(entries) };
    }
    return { [keyword]: value };
  }

  #each(list: readonly JsonValue[], inside: readonly string[]): JsonObject[] {
    return list.map((member) => this.write(member, inside));
  }

  #enum(values: readonly JsonValue[]): JsonObject | undefined {
    const isPlain = ["string", "number"].some((type) => values.every((each) => typeof each === type));
    // Google rejects an empty text in an enum: `enum[0]: cannot be empty`.
    return this.#demands.plainEnums && (!isPlain || values.includes("")) ? undefined : { enum: values };
  }

  #properties({ properties, required }: JsonObject, inside: readonly string[]): JsonObject {
    const entries = Object.entries(isJsonObject(properties) ? properties : {});
    const written = entries.flatMap(([name, property]): [string, JsonObject][] =>
      property === false ? [] : [[name, this.write(property, inside)]],
    );
    if (written.length < entries.length) this.#widened++;
    const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
    // Google: `required[0]: property is not defined`.
    const known = [...names].filter(
      (name) => this.#demands.keywords === undefined || written.some(([own]) => own === name),
    );
    if (known.length < names.size) this.#widened++;
    return {
      ...(properties !== undefined && { properties: Object.fromEntries(written) }),
      ...(required !== undefined && (known.length > 0 || names.size === 0) && { required: known }),
    };
  }

  /** Writes the items of lists. Those of a tuple become alternatives, and their order a description. */
  #items(schema: JsonObject, inside: readonly string[], lost: string[]): JsonObject {
    const { type, items, prefixItems, additionalItems } = schema;
    const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
    if (tuple === undefined) {
      const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
      if (items === undefined) return isList ? { items: {} } : {};
      return { items: this.write(items, inside) };
    }
    const members = this.#each(tuple as readonly JsonValue[], inside);
    const others = Array.isArray(prefixItems) ? items : additionalItems;
    if (others !== false) members.push(this.write(others ?? true, inside));
    lost.push(`items in this order: ${JSON.stringify(tuple)}`);
    const distinct = members.filter(
      (member, at) => members.findIndex((other) => equalJson(other, member)) === at,
    );
    const isAny = distinct.some((member) => Object.keys(member).length === 0);
    const [only] = distinct;
    return { items: isAny ? {} : distinct.length === 1 && only !== undefined ? only : { anyOf: distinct } };
  }
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns a schema in which the exclusive bounds of draft 4 are those of later drafts. */
function normalized(schema: JsonObject): JsonObject {
  const { exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  if (typeof exclusiveMinimum !== "boolean" && typeof exclusiveMaximum !== "boolean") return schema;
  const { minimum, maximum, ...rest } = others;
  const bound = (
    name: "inimum" | "aximum",
    exclusive: JsonValue | undefined,
    limit: JsonValue | undefined,
  ): JsonObject => {
    if (typeof exclusive === "number")
      return { [`exclusiveM${name}`]: exclusive, ...(limit !== undefined && { [`m${name}`]: limit }) };
    return limit === undefined ? {} : { [exclusive === true ? `exclusiveM${name}` : `m${name}`]: limit };
  };
  return {
    ...rest,
    ...bound("inimum", exclusiveMinimum, minimum),
    ...bound("aximum", exclusiveMaximum, maximum),
  };
}

/** Adds the lost keywords of a schema to its description. */
function describe(schema: JsonObject, lost: readonly string[]): JsonObject {
  const text = lost.join(", ");
  if (text === "" || text.length > MAX_RULES) return schema;
  const { description, ...others } = schema;
  const before = typeof description === "string" ? `${description} ` : "";
  return { ...others, description: `${before}(${text})` };
}

function escapeName(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

const DEFINITION = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** Keywords that give a schema a name, with the prefix of that name in references. */
const NAMES = [
  ["$id", ""],
  ["$anchor", "#"],
  ["$dynamicAnchor", "#"],
] as const;

/** Finds what references in a schema refer to. */
class References {
  readonly #root: JsonObject;
  /** The schemas with a name of their own, by `#` and that name, or by their `$id`. */
  #named: Map<string, JsonObject> | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Returns the name of the root's definition that a reference names; `undefined` if it names anything else. */
  nameOf(reference: string): string | undefined {
    const name = DEFINITION.exec(reference)?.[1];
    return name === undefined ? undefined : decode(name);
  }

  /** Returns the schema that a reference names; `undefined` if this schema does not have it. */
  find(reference: string): JsonValue | undefined {
    if (reference === "#") return this.#root;
    if (!reference.startsWith("#/")) return this.#byName().get(reference);
    let node: JsonValue | undefined = this.#root;
    for (const step of reference.slice(2).split("/").map(decode)) {
      if (typeof node !== "object" || node === null || !Object.hasOwn(node, step)) return undefined;
      node = (node as { readonly [name: string]: JsonValue })[step];
    }
    return node;
  }

  #byName(): ReadonlyMap<string, JsonObject> {
    if (this.#named !== undefined) return this.#named;
    this.#named = new Map();
    const waiting: JsonValue[] = [this.#root];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (typeof node !== "object" || node === null) continue;
      if (isJsonObject(node)) {
        for (const [keyword, prefix] of NAMES) {
          const name = node[keyword];
          if (typeof name === "string") this.#named.set(prefix + name, node);
        }
      }
      for (const child of Object.values(node)) if (child !== undefined) waiting.push(child);
    }
    return this.#named;
  }
}

function decode(step: string): string {
  const text = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
