import type { CedarValueJson, EntityJson, SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { canonicalText } from "../../json/canonical.ts";
import { lookUp, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";
import type { PolicyTool } from "../file/checked-rule.ts";
import type { PolicyRequest, PolicySubject } from "../policy.ts";
import { loadCedar } from "./cedar-library.ts";

/** The namespace of all entity types and actions. */
export const NAMESPACE = "Sandgate";

/** A type of Cedar's schema (JSON format), as far as JSON Schemas map to it. */
export type CedarType =
  | { readonly type: "String" | "Long" | "Boolean" }
  | { readonly type: "Extension"; readonly name: "decimal" }
  | { readonly type: "Set"; readonly element: CedarType }
  | { readonly type: "Record"; readonly attributes: Readonly<Record<string, CedarAttribute>> };

type CedarAttribute = CedarType & { readonly required: boolean };

/** A JSON Schema, resolved, and whether its value can also be `null`. */
interface Resolved {
  readonly schema: JsonObject;
  readonly isNullable: boolean;
}

/** Schemas that are nested more deeply have no type. Cedar's parser refuses values of more than 128 levels. */
const MAX_DEPTH = 32;

/** Member names that Cedar's JSON format reserves for entities and extension values. */
const RESERVED = new Set(["__entity", "__extn", "__expr"]);

/**
 * Returns the Cedar type of the values of a JSON Schema, or `undefined` if they have none: for example those of
 * several types, of a recursive schema or without a schema. Members without a type are left out of records, and so are
 * members that the schema does not name.
 *
 * @param root The schema in which `$ref`s are resolved.
 */
export function cedarTypeOf(schema: JsonValue, root: JsonObject, depth = 0): CedarType | undefined {
  const resolved = resolve(schema, root);
  if (resolved === undefined || depth > MAX_DEPTH) return undefined;
  switch (typeOf(resolved.schema)) {
    case "string":
      return { type: "String" };
    case "boolean":
      return { type: "Boolean" };
    case "integer":
      return { type: "Long" };
    case "number":
      return { type: "Extension", name: "decimal" };
    case "array": {
      const element = cedarTypeOf(resolved.schema["items"] ?? null, root, depth + 1);
      return element && { type: "Set", element };
    }
    case "object":
      return { type: "Record", attributes: attributesOf(resolved.schema, root, depth) };
    default:
      return undefined;
  }
}

function attributesOf(schema: JsonObject, root: JsonObject, depth: number): Record<string, CedarAttribute> {
  const { properties, required } = schema;
  const names = Array.isArray(required) ? required : [];
  const attributes: Record<string, CedarAttribute> = Object.create(null);
  for (const [name, member = null] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const type = RESERVED.has(name) ? undefined : cedarTypeOf(member, root, depth + 1);
    const isNullable = resolve(member, root)?.isNullable === true;
    if (type !== undefined) attributes[name] = { ...type, required: names.includes(name) && !isNullable };
  }
  return attributes;
}

/** The only type of a schema besides `null`, if it says so. */
function typeOf({ type, enum: values, const: constant }: JsonObject): string | undefined {
  if (typeof type === "string") return type;
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== "null");
    return others.length === 0 ? (only as string | undefined) : undefined;
  }
  const listed = Array.isArray(values) ? values : constant === undefined ? [] : [constant];
  return listed.length > 0 && listed.every((value) => typeof value === "string") ? "string" : undefined;
}

/** Follows references within the root, and takes the only alternative besides `null`. */
function resolve(schema: JsonValue, root: JsonObject): Resolved | undefined {
  let current = schema;
  let isNullable = false;
  for (let step = 0; step < MAX_DEPTH && isJsonObject(current); step++) {
    const { $ref, anyOf, oneOf, type } = current;
    const alternatives = anyOf ?? oneOf;
    isNullable ||= Array.isArray(type) && type.includes("null");
    if (typeof $ref === "string" && /^#(\/|$)/.test($ref)) {
      const found = lookUp(root, parsePointer(decodeURI($ref.slice(1))));
      if (typeof found === "symbol") return undefined;
      current = found;
    } else if (Array.isArray(alternatives)) {
      const [only, ...others] = alternatives.filter((each) => !isNull(each as JsonValue));
      if (only === undefined || others.length > 0) return undefined;
      isNullable ||= alternatives.length > 1;
      current = only as JsonValue;
    } else if ($ref !== undefined) return undefined;
    else return { schema: current, isNullable };
  }
  return undefined;
}

function isNull(schema: JsonValue): boolean {
  return isJsonObject(schema) && (schema["type"] === "null" || schema["const"] === null);
}

/** Thrown if a value has no representation in Cedar: the call must then be denied. */
export class CedarValueError extends Error {
  override readonly name = "CedarValueError";
}

/**
 * Returns a value in Cedar's JSON format. Only members of the type are copied, so that no value can pass for an entity
 * or an extension. `null` members are left out.
 *
 * @throws {CedarValueError} if the value does not have the type, or a number has no exact decimal with four places.
 */
export function toCedarValue(value: JsonValue, type: CedarType): CedarValueJson {
  switch (type.type) {
    case "String":
      if (typeof value === "string" && value.isWellFormed()) return value;
      break;
    case "Boolean":
      if (typeof value === "boolean") return value;
      break;
    case "Long":
      if (Number.isSafeInteger(value)) return value as number;
      break;
    case "Extension":
      if (typeof value === "number") return decimal(value);
      break;
    case "Set":
      if (Array.isArray(value))
        return value.map((element) => toCedarValue(element as JsonValue, type.element));
      break;
    case "Record":
      if (isJsonObject(value)) return toRecord(value, type.attributes);
  }
  throw new CedarValueError(`a value is no ${type.type} of Cedar`);
}

function toRecord(value: JsonObject, attributes: Readonly<Record<string, CedarAttribute>>): CedarValueJson {
  const record: Record<string, CedarValueJson> = Object.create(null);
  for (const [name, type] of Object.entries(attributes)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    if (member !== undefined && member !== null) record[name] = toCedarValue(member, type);
  }
  return record;
}

/** Cedar's decimals have 64 bits, and four places after the point. */
const MAX_DECIMAL = 922_337_203_685_477;

function decimal(value: number): CedarValueJson {
  const text = value.toFixed(4);
  if (Math.abs(value) > MAX_DECIMAL || Number(text) !== value)
    throw new CedarValueError("a number has no exact decimal of Cedar");
  return { __extn: { fn: "decimal", arg: text } };
}

/**
 * Returns the Cedar schema (JSON format) of tools: an action for each tool, whose context has the tool's arguments.
 *
 * - `principal`: a `Sandgate::Principal`, in a `Sandgate::Role` for each of its roles. `kind` is its attribute, and its
 *   attributes are tags: texts as they are, other values as JSON text. A call without a principal has the id `""`.
 * - `action`: `Sandgate::Action::"<tool>"`.
 * - `resource`: the `Sandgate::Tool`, with `sideEffects`, `tags` and `sandboxes`.
 * - `context`: `input` (if the arguments are an object), `sessionId`, and `workspace` if the session has one.
 */
export function cedarSchema(tools: readonly PolicyTool[]): SchemaJson<string> {
  const text = { type: "String" } as const;
  const texts = { type: "Set", element: text } as const;
  const actions: SchemaJson<string>[string]["actions"] = Object.create(null);
  for (const { name, inputSchema } of tools) {
    const input = inputTypeOf(inputSchema);
    const attributes = {
      sessionId: text,
      workspace: { ...text, required: false },
      ...(input && { input }),
    };
    actions[name] = {
      appliesTo: {
        principalTypes: ["Principal"],
        resourceTypes: ["Tool"],
        context: { type: "Record", attributes: attributes as never },
      },
    };
  }
  return {
    [NAMESPACE]: {
      entityTypes: {
        Role: {},
        Principal: {
          memberOfTypes: ["Role"],
          shape: { type: "Record", attributes: { kind: { ...text, required: false } } },
          tags: text,
        },
        Tool: {
          shape: { type: "Record", attributes: { sideEffects: text, tags: texts, sandboxes: texts } },
        },
      },
      actions,
    },
  };
}

/** The type of `context.input`; `undefined` if the arguments are not an object. */
export function inputTypeOf(inputSchema: JsonObject): CedarType | undefined {
  const type = cedarTypeOf(inputSchema, inputSchema);
  return type?.type === "Record" ? type : undefined;
}

/** An entity in a request, without the namespace of its type. */
export function entityId(type: string, id: string): { readonly type: string; readonly id: string } {
  return { type: `${NAMESPACE}::${type}`, id };
}

/** The entities of a request: its principal with its roles, and its tool. */
export function entitiesOf({ principal, tool }: PolicyRequest): EntityJson[] {
  const { id = "", kind, roles = [], attributes = {} } = principal ?? {};
  return [
    {
      uid: entityId("Principal", id),
      attrs: kind === undefined ? {} : { kind },
      parents: roles.map((role) => entityId("Role", role)),
      tags: Object.fromEntries(
        Object.entries(attributes).map(([name, value = null]) => [
          name,
          typeof value === "string" ? value : canonicalText(value),
        ]),
      ),
    },
    { uid: entityId("Tool", tool.name), attrs: toolAttributes(tool), parents: [] },
  ];
}

function toolAttributes({ sideEffects, tags = [], sandboxes }: PolicySubject): EntityJson["attrs"] {
  return { sideEffects: sideEffects ?? UNDECLARED_SIDE_EFFECTS, tags: [...tags], sandboxes: [...sandboxes] };
}

/**
 * Returns the Cedar schema of tools in Cedar's own syntax, for editors and other tools: see {@link cedarSchema}.
 *
 * @throws {Error} if `@cedar-policy/cedar-wasm` is not installed.
 */
export async function cedarSchemaText(tools: readonly PolicyTool[]): Promise<string> {
  const cedar = await loadCedar();
  const answer = cedar.schemaToText(cedarSchema(tools));
  if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  return answer.text;
}
