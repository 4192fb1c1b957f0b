import { parseArguments, type ToolCall } from "../engine/call.ts";
import type { ToolDefinition } from "../engine/definition.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { TurnCall } from "./turn.ts";

/** The arguments of free-form tools for providers without custom tools. */
const INPUT_SCHEMA: JsonObject = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};

/** Describes a free-form tool as one that takes an object with its text. Others are not changed. */
export function withObjectInput(definition: ToolDefinition): ToolDefinition {
  const { freeform, ...others } = definition;
  return freeform ? { ...others, inputSchema: INPUT_SCHEMA } : definition;
}

/** Replaces the object in the call of a free-form tool by its text, or adds a problem if it has none. */
export function readObjectInput(call: TurnCall): TurnCall {
  if (call.problem !== undefined) return call;
  const parsed = parseArguments(call.arguments);
  if ("problem" in parsed) return { ...call, problem: parsed.problem };
  const input = soleInput(parsed.value);
  if (input !== undefined) return { ...call, arguments: input };
  return { ...call, problem: "Invalid arguments: must be an object with one member, the string 'input'" };
}

function soleInput(value: JsonValue): string | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return undefined;
  const { input } = value;
  return typeof input === "string" ? input : undefined;
}

/** Wraps the text in the call of a free-form tool in such an object. A call without a text is not changed. */
export function writeObjectInput<Call extends ToolCall>(call: Call): Call {
  const { arguments: input, problem } = call;
  return typeof input === "string" && problem === undefined ? { ...call, arguments: { input } } : call;
}
