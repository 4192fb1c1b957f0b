import type { JsonObject, JsonValue } from "../json/value.ts";
import type { ContentOutput } from "./content.ts";

/**
 * Returns what a tool returns to report success with metadata. Without metadata, a tool can return its output as it is.
 *
 * @param output What the model reads: a text, or any other JSON value as JSON text.
 * @param metadata Becomes `ToolExecution.metadata`. The model never sees it. Default: none.
 */
export function success(output: JsonValue, metadata?: JsonObject): ContentOutput {
  return reported(typeof output === "string" ? output : JSON.stringify(output), true, metadata);
}

/**
 * Returns what a tool returns to report a failure without throwing: the call fails with `execution_error`.
 *
 * @param message What the model reads.
 * @param metadata As in {@link success}.
 */
export function failure(message: string, metadata?: JsonObject): ContentOutput {
  return reported(message, false, metadata);
}

function reported(text: string, isSuccess: boolean, metadata: JsonObject | undefined): ContentOutput {
  const content = [{ type: "text", text } as const];
  return { content, success: isSuccess, ...(metadata !== undefined && { metadata }) };
}
