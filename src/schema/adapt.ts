import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { ArgumentRules } from "./arguments.ts";
import { meter } from "./bounds.ts";
import type { LoweredNode } from "./compile/references.ts";

/** A lowered schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Adapts a value that its schema does not accept, by the rules. Only schemas that apply unconditionally are considered
 * (`properties`, `items`, `allOf`, references, …; neither `anyOf` nor `if`), so nothing is guessed. Returns the value
 * itself if nothing changes.
 *
 * @throws {WorkExceededError} like validating.
 */
export function adaptValue(root: LoweredNode, value: JsonValue, rules: Required<ArgumentRules>): JsonValue {
  if (typeof root === "boolean") return value;
  return new Adapter((root["$defs"] ?? {}) as Record<string, LoweredNode>, rules).adapt(value, [root]);
}

/** How many schemas take as long to look through, for one member or item, as one keyword. */
const SCHEMAS_PER_WORK = 8;

class Adapter {
  readonly #definitions: Readonly<Record<string, LoweredNode>>;
  readonly #rules: Required<ArgumentRules>;

  constructor(definitions: Readonly<Record<string, LoweredNode>>, rules: Required<ArgumentRules>) {
    this.#definitions = definitions;
    this.#rules = rules;
  }

  adapt(value: JsonValue, nodes: readonly unknown[]): JsonValue {
    const schemas = this.#applying(nodes);
    if (schemas.length === 0 || value === null) return value;
    if (isJsonObject(value)) return this.#adaptObject(value, schemas);
    if (typeof value !== "object") return this.#rules.coerce ? coerce(value, schemas) : value;
    meter.charge((value.length * schemas.length) / SCHEMAS_PER_WORK);
    const items = value.map((item, index) =>
      this.adapt(
        item,
        schemas.flatMap((schema) => itemSchema(schema, index)),
      ),
    );
    return items.every((item, index) => item === value[index]) ? value : Object.freeze(items);
  }

  #adaptObject(value: JsonObject, schemas: readonly Schema[]): JsonObject {
    const result: Record<string, JsonValue> = {};
    let isChanged = false;
    for (const name of Object.keys(value)) {
      meter.charge(schemas.length / SCHEMAS_PER_WORK);
      const member = value[name] ?? null;
      const nodes = schemas.flatMap((schema) => memberSchema(schema, name));
      if (member === null && this.#isAbsent(name, schemas, nodes)) {
        isChanged = true;
        continue;
      }
      const adapted = this.adapt(member, nodes);
      isChanged ||= adapted !== member;
      result[name] = adapted;
    }
    return isChanged ? Object.freeze(result) : value;
  }

  #isAbsent(name: string, schemas: readonly Schema[], nodes: readonly unknown[]): boolean {
    return (
      this.#rules.nullForOptional === "absent" &&
      schemas.some(({ properties }) => isNamed(properties, name)) &&
      !schemas.some(({ required }) => Array.isArray(required) && required.includes(name)) &&
      nodes.some((node) => this.#refusesNull(node))
    );
  }

  #refusesNull(node: unknown): boolean {
    if (node === false) return true;
    return this.#applying([node]).some((schema) => {
      const { type, enum: values, anyOf, oneOf } = schema;
      if (type !== undefined && ![type].flat().includes("null")) return true;
      if (Object.hasOwn(schema, "const") && schema["const"] !== null) return true;
      if (Array.isArray(values) && !values.includes(null)) return true;
      return [anyOf, oneOf].some(
        (branches) => Array.isArray(branches) && branches.every((branch) => this.#refusesNull(branch)),
      );
    });
  }

  /** The schemas that apply to a value to which these apply, including references and `allOf`. */
  #applying(nodes: readonly unknown[]): readonly Schema[] {
    const schemas = nodes.filter(isSchema);
    // The list grows while it is iterated. Lowering has made sure that this ends.
    for (const { $ref, allOf } of schemas) {
      meter.charge(1);
      const referred =
        typeof $ref === "string" ? this.#definitions[$ref.slice("#/$defs/".length)] : undefined;
      for (const node of [referred, ...(Array.isArray(allOf) ? allOf : [])]) {
        if (isSchema(node)) schemas.push(node);
      }
    }
    return schemas;
  }
}

function isSchema(node: unknown): node is Schema {
  return typeof node === "object" && node !== null;
}

function isNamed(properties: unknown, name: string): properties is Schema {
  return isSchema(properties) && Object.hasOwn(properties, name);
}

function memberSchema(
  { properties, additionalProperties, patternProperties }: Schema,
  name: string,
): unknown[] {
  if (isNamed(properties, name)) return [properties[name]];
  return patternProperties === undefined && additionalProperties !== undefined ? [additionalProperties] : [];
}

function itemSchema({ prefixItems, items, additionalItems }: Schema, index: number): unknown[] {
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
  return [Array.isArray(first) && index < first.length ? first[index] : rest];
}

/** Converts a scalar to the other type that all schemas want, if its JSON text stays the same. */
function coerce(value: string | number | boolean, schemas: readonly Schema[]): JsonValue {
  const wanted = schemas.flatMap(({ type }) => (type === undefined ? [] : [new Set([type].flat())]));
  const wants = (type: string): boolean => wanted.length > 0 && wanted.every((types) => types.has(type));
  if (wants(typeof value)) return value;
  if (typeof value !== "string") return wants("string") ? String(value) : value;
  if (wants("boolean") && (value === "true" || value === "false")) return value === "true";
  if (!NUMBER.test(value)) return value;
  const number = Number(value);
  if (wants("number") && Number.isFinite(number)) return number;
  return wants("integer") && Number.isSafeInteger(number) ? number : value;
}
