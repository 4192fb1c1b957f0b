import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** The member in which a value that is no object is wrapped, for clients of 2025-11-25. */
const WRAPPED = "value";
/** The URI of a schema within the one that wraps it, so that its references stay within it. */
const INNER_ID = "urn:sandgate:output";

/** An output schema as the wire has it: 2025-11-25 knows only objects. */
export function wireOutputSchema(schema: JsonObject, isModern: boolean): JsonObject {
  if (isModern || isObjectSchema(schema)) return schema;
  const { $schema, ...inner } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: { [WRAPPED]: { $id: INNER_ID, ...inner } },
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
