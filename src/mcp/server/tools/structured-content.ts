import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** The member in which a value that is no object is wrapped, for clients of 2025-11-25. */
const WRAPPED = "value";
/** Where the schema of that member is, for references. */
const WRAPPED_POINTER = `#/properties/${WRAPPED}`;
/** Members of schemas that are data. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/** An output schema as the wire has it: 2025-11-25 knows only objects. */
export function wireOutputSchema(schema: JsonObject, isModern: boolean): JsonObject {
  if (isModern || isObjectSchema(schema)) return schema;
  const { $schema, ...inner } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: { [WRAPPED]: moved(inner) },
    required: [WRAPPED],
  };
}

/**
 * The `structuredContent` for an output of a tool with an output schema.
 *
 * @param schema The tool's. `undefined`: what an imported server sent; the content of a legacy client is an object.
 */
export function wireStructuredContent(
  value: JsonValue,
  schema: JsonObject | undefined,
  isModern: boolean,
): JsonValue {
  const isWrapped = schema === undefined ? !isJsonObject(value) : !isObjectSchema(schema);
  return isModern || !isWrapped ? value : { [WRAPPED]: value };
}

function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object";
}

/** Returns a schema whose references to itself lead to where it is wrapped. */
function moved(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(moved);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value = null]): [string, JsonValue] => {
      if (name === "$ref" && typeof value === "string" && /^#(?:\/|$)/.test(value)) {
        return [name, WRAPPED_POINTER + value.slice(1)];
      }
      return [name, DATA.has(name) ? value : moved(value)];
    }),
  );
}
