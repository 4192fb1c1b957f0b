import type { JsonObject, JsonValue } from "../../../json/value.ts";
import { isNestedOption } from "../abi/shapes.ts";
import type { FunctionType, NamedType, ValueType } from "../linking/value-type.ts";
import { INTEGER_BOUNDS } from "./json.ts";

/** A function's type cannot be expressed in JSON. `message` gives the reason. */
export class NoJsonError extends Error {
  override readonly name = "NoJsonError";
}

/**
 * Returns the JSON Schema (draft 2020-12) of a function's arguments: an object with a member for each parameter.
 *
 * @throws {NoJsonError} if a parameter or the result cannot be expressed in JSON, or the function is asynchronous.
 */
export function argumentsSchema({ params, result, isAsync }: FunctionType): JsonObject {
  if (isAsync) throw new NoJsonError("it is asynchronous, which is not supported");
  if (result !== undefined) valueSchema(result);
  return objectSchema(params);
}

function valueSchema(type: ValueType): JsonObject {
  switch (type.kind) {
    case "bool":
      return { type: "boolean" };
    case "s64":
      return bigIntegerSchema(Number.MIN_SAFE_INTEGER, "^-?[0-9]{1,19}$");
    case "u64":
      return bigIntegerSchema(0, "^[0-9]{1,20}$");
    case "f32":
    case "f64":
      return { type: "number" };
    case "char":
      return { type: "string", minLength: 1, maxLength: 1 };
    case "string":
      return { type: "string" };
    case "list":
      if (type.element.kind === "u8") return { type: "string", contentEncoding: "base64" };
      return { type: "array", items: valueSchema(type.element) };
    case "tuple": {
      const { length } = type.items;
      const prefixItems = type.items.map(valueSchema);
      return { type: "array", prefixItems, items: false, minItems: length, maxItems: length };
    }
    case "record":
      return objectSchema(type.fields);
    case "enum":
      return { type: "string", enum: type.names };
    case "flags":
      return { type: "array", items: { type: "string", enum: type.names }, uniqueItems: true };
    case "option":
      return {
        anyOf: [isNestedOption(type) ? wrapped("some", type.some) : valueSchema(type.some), { type: "null" }],
      };
    case "result":
      return { anyOf: [wrapped("ok", type.ok), wrapped("err", type.err)] };
    case "variant":
      return { anyOf: type.cases.map(({ name, type: of }) => caseSchema(name, of)) };
    case "own":
    case "borrow":
      throw new NoJsonError(
        `it takes or returns a resource (${type.resource.name.slice(0, 64)}), which has no JSON representation`,
      );
    case "unsupported":
      throw new NoJsonError(`it takes or returns a ${type.what}, which is not supported`);
    default: {
      const [minimum, maximum] = INTEGER_BOUNDS[type.kind] ?? [];
      return { type: "integer", minimum, maximum };
    }
  }
}

/** A number if a double represents it exactly, otherwise a string of its digits. */
function bigIntegerSchema(minimum: number, pattern: string): JsonObject {
  return { type: ["integer", "string"], minimum, maximum: Number.MAX_SAFE_INTEGER, pattern };
}

/** Members whose type is an option are not required. */
function objectSchema(fields: readonly NamedType[]): JsonObject {
  const required = fields.flatMap(({ name, type }) => (type.kind === "option" ? [] : [name]));
  return closedObject(
    fields.map(({ name, type }) => [name, valueSchema(type)]),
    required,
  );
}

function wrapped(member: string, type: ValueType | undefined): JsonObject {
  return closedObject([[member, type === undefined ? { type: "null" } : valueSchema(type)]], [member]);
}

function caseSchema(name: string, type: ValueType | undefined): JsonObject {
  const tag: [string, JsonValue] = ["tag", { const: name }];
  if (type === undefined) return closedObject([tag], ["tag"]);
  return closedObject([tag, ["val", valueSchema(type)]], ["tag", "val"]);
}

function closedObject(
  properties: readonly (readonly [name: string, schema: JsonValue])[],
  required: readonly string[],
): JsonObject {
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  };
}
