import type { ToolExecution } from "../../engine/call/execution.ts";
import { toToolResult, WITHDRAWN_TEXT } from "../../engine/call/messages.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { isContentOutput } from "../../tool/content.ts";

/**
 * The member of an execution's metadata with the result as MCP has it: `content` with blocks of every type,
 * `structuredContent` and `_meta`. A tool that returns what Sandgate has no blocks for, such as audio, returns it there.
 */
const MCP_RESULT = "mcp";

/** A result of `tools/call`. */
interface WireResult extends JsonObject {
  readonly content: readonly JsonObject[];
}

/** What the wire of a result depends on. */
interface ResultWire {
  readonly outputSchema: JsonObject | undefined;
  readonly isModern: boolean;
  /** Stands after the text of a call that a person could have allowed. */
  readonly hint: string | undefined;
}

/** Converts an execution to the result of `tools/call`. A failure is a result with `isError`, which the model reads. */
export function toolResult(execution: ToolExecution | null, wire: ResultWire): WireResult {
  if (execution === null) return failed([{ type: "text", text: WITHDRAWN_TEXT }]);
  const own = execution.metadata?.[MCP_RESULT];
  const isEdited = execution.confirmation?.editedDigest !== undefined;
  if (isOwnResult(own) && !isEdited) return ownResult(own, execution, wire);
  const { content, isError } = toToolResult(execution);
  if (isError) return failed([...(content as unknown as readonly JsonObject[]), ...hintOf(execution, wire)]);
  const { output } = execution;
  const { outputSchema, isModern } = wire;
  const isStructured = outputSchema !== undefined && !isContentOutput(output);
  return {
    content: content as unknown as readonly JsonObject[],
    ...(isStructured && { structuredContent: wireStructuredContent(output, outputSchema, isModern) }),
  };
}

function isOwnResult(own: JsonValue | undefined): own is WireResult {
  return isJsonObject(own) && Array.isArray(own["content"]) && own["content"].every(isJsonObject);
}

function ownResult(
  { content, structuredContent, _meta }: WireResult,
  { success }: ToolExecution,
  { outputSchema, isModern }: ResultWire,
): WireResult {
  if (!success) {
    // The structured content of a failure need not match the output schema.
    return { ...failed(content), ...extraMembers({ structuredContent, _meta }, undefined, isModern) };
  }
  return {
    content: content.length === 0 && !isModern ? textOf(structuredContent) : content,
    ...extraMembers({ structuredContent, _meta }, outputSchema, isModern),
  };
}

/** A client of 2025-11-25 that reads only the content gets the value as text, too. */
function textOf(value: JsonValue | undefined): readonly JsonObject[] {
  return value === undefined || isJsonObject(value) ? [] : [{ type: "text", text: JSON.stringify(value) }];
}

function extraMembers(
  { structuredContent, _meta }: JsonObject,
  outputSchema: JsonObject | undefined,
  isModern: boolean,
): JsonObject {
  return {
    ...(structuredContent !== undefined && {
      structuredContent: wireStructuredContent(structuredContent, outputSchema, isModern),
    }),
    ...(isJsonObject(_meta) && { _meta: passedMeta(_meta) }),
  };
}

function hintOf({ error }: ToolExecution, { hint }: ResultWire): readonly JsonObject[] {
  return error?.code === "confirmation_timeout" && hint !== undefined ? [{ type: "text", text: hint }] : [];
}

function failed(content: readonly JsonObject[]): WireResult {
  return { content, isError: true };
}

/** The prefix of members that belong to one connection, such as who the server is. */
const RESERVED = "io.modelcontextprotocol/";

/** `_meta` of an imported server, as it is passed on to clients. */
export function passedMeta(meta: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(meta).filter(([name]) => !name.startsWith(RESERVED)));
}

/** The member in which a value that is not an object is wrapped, for clients of 2025-11-25. */
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
function wireStructuredContent(
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
