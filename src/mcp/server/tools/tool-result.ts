import type { ToolExecution } from "../../../engine/call/execution.ts";
import { toToolResult, WITHDRAWN_TEXT } from "../../../engine/call/messages.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { isContentOutput } from "../../../tool/content.ts";
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
  { success, error }: ToolExecution,
  { outputSchema, isModern }: ResultWire,
): WireResult {
  if (!success) {
    const isSilent = !content.some(({ type }) => type === "text");
    return failed(isSilent ? [{ type: "text", text: error?.message ?? "" }, ...content] : content);
  }
  return {
    content,
    ...(structuredContent !== undefined && {
      structuredContent: wireStructuredContent(structuredContent, outputSchema, isModern),
    }),
    ...(_meta !== undefined && { _meta }),
  };
}

function hintOf({ error }: ToolExecution, { hint }: ResultWire): readonly JsonObject[] {
  return error?.code === "confirmation_timeout" && hint !== undefined ? [{ type: "text", text: hint }] : [];
}

function failed(content: readonly JsonObject[]): WireResult {
  return { content, isError: true };
}
