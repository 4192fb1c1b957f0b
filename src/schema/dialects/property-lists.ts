import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { DEFINITIONS, KEYWORDS } from "../keywords.ts";
import type { SchemaProblem } from "../schema-error.ts";
import { asFlag, DIALECT_RULES, type OpenSchema } from "./dialect-rules.ts";

/** The changes of a schema's `properties` and `required`. */
interface PropertyChange {
  readonly members: OpenSchema;
  readonly changes: readonly {
    readonly path: string;
    readonly from: JsonValue | undefined;
    readonly to: JsonValue | undefined;
  }[];
  readonly problems: readonly SchemaProblem[];
}

/** Annotations that also identify an object as a schema. */
const ANNOTATIONS: readonly string[] = [
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
];
/** The members under which catalogues list the required and the optional parameters. */
const REQUIRED_LIST = "required_parameters";
const OPTIONAL_LIST = "optional_parameters";

/**
 * Returns the object schema that is meant by a list of properties, by two lists of them, or by a map of properties
 * without a schema around it. Everything else is returned as it is.
 */
export function rootObject(given: JsonValue): JsonValue {
  if (Array.isArray(given)) return { type: "object", properties: given };
  if (!isJsonObject(given)) return given;
  const names = Object.keys(given);
  const { [REQUIRED_LIST]: needed = [], [OPTIONAL_LIST]: others = [], ...rest } = given;
  if (
    (names.includes(REQUIRED_LIST) || names.includes(OPTIONAL_LIST)) &&
    Array.isArray(needed) &&
    Array.isArray(others)
  ) {
    const isNeeded = (item: JsonValue): JsonValue =>
      isJsonObject(item) ? { ...item, required: true } : item;
    return { type: "object", ...rest, properties: [...needed.map(isNeeded), ...others] };
  }
  const areProperties = Object.values(given).every(
    (member) => isJsonObject(member) && typeof member["type"] === "string",
  );
  return hasKeyword(names) || names.length === 0 || !areProperties
    ? given
    : { type: "object", properties: given };
}

/** Returns whether an object has members, but no schema keyword: as a schema it would accept everything. */
export function saysNothing(root: JsonValue): boolean {
  const names = isJsonObject(root) ? Object.keys(root) : [];
  return names.length > 0 && !hasKeyword(names);
}

function hasKeyword(names: readonly string[]): boolean {
  return names.some(
    (name) =>
      KEYWORDS.has(name) ||
      DEFINITIONS.includes(name) ||
      ANNOTATIONS.includes(name) ||
      DIALECT_RULES.some(({ keyword }) => keyword === name),
  );
}

/**
 * Turns a list of `properties` into a map, and adds to `required` the names of properties that have `required: true`
 * or `optional: false`.
 */
export function propertiesOf(schema: Readonly<OpenSchema>): PropertyChange {
  const changes: { path: string; from: JsonValue | undefined; to: JsonValue | undefined }[] = [];
  const problems: SchemaProblem[] = [];
  const members: OpenSchema = {};
  const required = new Set<string>();
  const { properties, required: given } = schema;
  // Whether the schema itself is required was handled with its parent.
  if (given !== undefined && !Array.isArray(given)) {
    if (asFlag(given) === undefined) problems.push({ path: "/required", reason: "must be a list of names" });
    drop(members, "required", given);
  }
  if (schema["optional"] !== undefined) drop(members, "optional", schema["optional"]);
  const named = Array.isArray(properties) ? namedProperties(properties, problems) : properties;
  if (named !== properties && properties !== undefined)
    changes.push({ path: "/properties", from: properties, to: named });
  if (isJsonObject(named)) {
    const own: Record<string, JsonValue> = {};
    for (const [name, property] of Object.entries(named)) {
      own[name] = property ?? true;
      if (!isJsonObject(property)) continue;
      const isRequired = asFlag(property["required"]) ?? not(asFlag(property["optional"]));
      if (isRequired === true) required.add(name);
    }
    members["properties"] = own;
  }
  const listed = Array.isArray(given) ? (given as readonly JsonValue[]) : [];
  const added = [...required].filter((name) => !listed.includes(name));
  if (added.length > 0) {
    members["required"] = [...listed, ...added];
    changes.push({ path: "/required", from: given, to: members["required"] });
  }
  return { members, changes, problems };

  function drop(from: OpenSchema, keyword: string, value: JsonValue): void {
    from[keyword] = undefined;
    changes.push({ path: `/${escapePointer(keyword)}`, from: value, to: undefined });
  }
}

function namedProperties(list: readonly JsonValue[], problems: SchemaProblem[]): JsonObject {
  const named: Record<string, JsonValue> = {};
  for (const [index, item] of list.entries()) {
    const path = `/properties/${index}`;
    const { name, ...property } = isJsonObject(item) ? item : {};
    if (typeof name !== "string" || name === "") problems.push({ path, reason: "the property has no name" });
    else if (Object.hasOwn(named, name))
      problems.push({ path, reason: `duplicate property '${name.slice(0, 64)}'` });
    else named[name] = property as JsonObject;
  }
  return named;
}

function not(flag: boolean | undefined): boolean | undefined {
  return flag === undefined ? undefined : !flag;
}
