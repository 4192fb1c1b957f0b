// Vercel's AI SDK.
import { executeTool, safeParseJSON } from "@ai-sdk/provider-utils";
import { generateText, jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Ajv } from "ajv";

function echoTool({ INPUT_SCHEMA }) {
  // The SDK does not include a JSON Schema validator, so this passes the one that Sandgate uses.
  const validate = new Ajv({ allErrors: true }).compile(INPUT_SCHEMA);
  const inputSchema = jsonSchema(INPUT_SCHEMA, {
    validate: (value) =>
      validate(value) ? { success: true, value } : { success: false, error: new Error("invalid") },
  });
  return tool({ inputSchema, execute: async (input) => input });
}

/** The part of `generateText` that handles one call. */
export function parts(setting) {
  const echo = echoTool(setting);
  const options = { toolCallId: "call", messages: [] };
  return {
    run: async () => {
      const parsed = await safeParseJSON({ text: setting.INPUT_TEXT, schema: echo.inputSchema });
      if (!parsed.success) throw parsed.error;
      let output;
      for await (const part of executeTool({ tool: echo, input: parsed.value, options })) {
        output = part.output;
      }
      return output;
    },
  };
}

/** One step of `generateText`, with a model that immediately responds with a call. */
export function generate(setting) {
  const content = [{ type: "tool-call", toolCallId: "call", toolName: "echo", input: setting.INPUT_TEXT }];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({
      content,
      finishReason: { unified: "tool-calls", raw: "tool-calls" },
      usage,
      warnings: [],
    }),
  });
  const tools = { echo: echoTool(setting) };
  return {
    run: async () => (await generateText({ model, tools, prompt: "go" })).toolResults[0].output,
  };
}
