import type { ToolExecution } from "../../../engine/call/execution.ts";
import { toToolResult, WITHDRAWN_TEXT } from "../../../engine/call/messages.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { isContentOutput } from "../../../tool/content.ts";
import { passedMeta } from "./passed-meta.ts";
import { wireStructuredContent } from "./structured-content.ts";

/**
 * The member of an execution's metadata with the result as MCP has it: `content` with blocks of every type,
 * `structuredContent` and `_meta`. A tool that returns what Sandgate has no blocks for, such as audio, returns it there.
 */
export const MCP_RESULT = "mcp";

/** A result of `tools/call`. */
export interface WireResult extends JsonObject {
  readonly content: readonly JsonObject[];
}

/** What the wire of a result depends on. */
export interface ResultWire {
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
