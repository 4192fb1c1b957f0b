import { setTimeout as delay } from "node:timers/promises";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { McpClient, McpServer } from "../../../src/mcp/server/mcp-server.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";

/** A PNG of one red pixel, and a WAV without samples, in base64. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

type Host = (input: JsonObject, context: HostContext) => unknown;

/** A tool with an input of any members, unless a schema says otherwise. */
function tool(name: string, host: Host, inputSchema: JsonObject = { type: "object" }): Tool {
  return {
    name,
    description: `A fixture of the conformance suite: ${name}.`,
    inputSchema,
    sideEffects: "none",
    host: host as never,
  };
}

/** What a tool returns that has more than texts and images. */
function mcpResult(content: readonly JsonObject[]): JsonObject {
  return { content: [], metadata: { mcp: { content } } };
}

function form(message: string, properties: JsonObject): JsonObject {
  return { message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } };
}

/** The tools that the conformance suite calls, as ordinary tools of Sandgate. */
export function fixtureTools(serverOf: () => McpServer, mutate: FixtureChanges): readonly Tool[] {
  const clientOf = (context: HostContext): McpClient => {
    const client = serverOf().clientOf(context);
    if (client === undefined) throw new Error("there is no client");
    return client;
  };
  const asks = (requests: (client: McpClient) => Parameters<McpClient["ask"]>[0]): Host => {
    return async (_input, context) => {
      const client = clientOf(context);
      return JSON.stringify(await client.ask(requests(client)));
    };
  };
  const elicits = (key: string, message: string, properties: JsonObject): Host =>
    asks(() => ({ [key]: { method: "elicitation/create", params: form(message, properties) } }));
  const name = { name: { type: "string" } };
  const ok = { ok: { type: "boolean" } };
  return [
    tool("test_simple_text", () => "This is a simple text response for testing."),
    tool("test_image_content", () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] })),
    tool("test_audio_content", () => mcpResult([{ type: "audio", data: WAV, mimeType: "audio/wav" }])),
    tool("test_embedded_resource", () => {
      const text = "This is an embedded resource content.";
      return mcpResult([
        { type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text } },
      ]);
    }),
    tool("test_multiple_content_types", () => {
      const uri = "test://mixed-content-resource";
      const text = '{"test":"data","value":123}';
      return mcpResult([
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: PNG, mimeType: "image/png" },
        { type: "resource", resource: { uri, mimeType: "application/json", text } },
      ]);
    }),
    tool("test_error_handling", () => {
      throw new Error("This tool intentionally returns an error for testing");
    }),
    tool("test_tool_with_logging", async (_input, { logger }) => {
      logger.info("Tool execution started");
      await delay(50);
      logger.info("Tool processing data");
      await delay(50);
      logger.info("Tool execution completed");
      return "logged";
    }),
    tool("test_logging_tool", (_input, { logger }) => {
      logger.info("only for clients that want logs");
      return "logged";
    }),
    tool("test_tool_with_progress", async (_input, { onOutput }) => {
      for (const done of [0, 50, 100]) {
        onOutput(`${done} of 100`);
        await delay(50);
      }
      return "done";
    }),
    tool(
      "test_sampling",
      async ({ prompt }, context) => {
        const { answer } = await clientOf(context).ask({
          answer: { method: "sampling/createMessage", params: sampling(String(prompt), 100) },
        });
        return `LLM response: ${(answer?.["content"] as JsonObject)["text"]}`;
      },
      { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    ),
    tool(
      "test_elicitation",
      async ({ message }, context) => {
        const user = { username: { type: "string" }, email: { type: "string" } };
        const { answer } = await clientOf(context).ask({
          answer: { method: "elicitation/create", params: form(String(message), user) },
        });
        return `User response: action: ${answer?.["action"]}, content: ${JSON.stringify(answer?.["content"])}`;
      },
      { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    ),
    tool("test_elicitation_sep1034_defaults", elicits("form", "Check the defaults", DEFAULTS)),
    tool("test_elicitation_sep1330_enums", elicits("form", "Choose", ENUMS)),
    tool("test_input_required_result_elicitation", elicits("user_name", "What is your name?", name)),
    tool(
      "test_input_required_result_sampling",
      asks(() => ({ capital_question: { method: "sampling/createMessage", params: CAPITAL } })),
    ),
    tool(
      "test_input_required_result_list_roots",
      asks(() => ({ client_roots: { method: "roots/list" } })),
    ),
    tool("test_input_required_result_request_state", async (input, context) => {
      await elicits("confirm", "Please confirm", ok)(input, context);
      return "state-ok";
    }),
    tool("test_input_required_result_tampered_state", elicits("confirm", "Please confirm", ok)),
    tool(
      "test_input_required_result_multiple_inputs",
      asks(() => ({
        user_name: { method: "elicitation/create", params: form("What is your name?", name) },
        greeting: { method: "sampling/createMessage", params: sampling("Generate a greeting", 50) },
        client_roots: { method: "roots/list" },
      })),
    ),
    tool("test_input_required_result_multi_round", async (input, context) => {
      const step1 = await elicits("step1", "Step 1: What is your name?", name)(input, context);
      const color = { color: { type: "string" } };
      const step2 = await elicits("step2", "Step 2: What is your favorite color?", color)(input, context);
      return `${step1} ${step2}`;
    }),
    tool(
      "test_input_required_result_capabilities",
      asks(({ capabilities }) => ({
        ...(capabilities["elicitation"] !== undefined && {
          user_name: { method: "elicitation/create", params: form("What is your name?", name) },
        }),
        ...(capabilities["sampling"] !== undefined && {
          greeting: { method: "sampling/createMessage", params: sampling("Generate a greeting", 50) },
        }),
      })),
    ),
    tool("test_missing_capability", async (_input, context) => {
      await clientOf(context).ask({ text: { method: "sampling/createMessage", params: CAPITAL } });
      return "asked";
    }),
    tool("test_streaming_elicitation", async (input, context) => {
      context.onOutput("asking");
      return elicits("user_name", "What is your name?", name)(input, context);
    }),
    tool("json_schema_2020_12_tool", () => "valid", JSON_SCHEMA),
    tool("test_custom_header", ({ region }) => `in ${region}`, {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
    }),
    tool("test_trigger_tool_change", () => {
      mutate.changeTools();
      return "changed";
    }),
    tool("test_trigger_prompt_change", () => {
      mutate.changePrompts();
      return "changed";
    }),
  ];
}

/** What fixtures change in the server. */
export interface FixtureChanges {
  changeTools(): void;
  changePrompts(): void;
}

function sampling(text: string, maxTokens: number): JsonObject {
  return { messages: [{ role: "user", content: { type: "text", text } }], maxTokens };
}

const CAPITAL = sampling("What is the capital of France?", 100);

const DEFAULTS: JsonObject = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const JSON_SCHEMA: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const OPTIONS = ["option1", "option2", "option3"];
const TITLED = [1, 2, 3].map((number) => ({ const: `value${number}`, title: `Option ${number}` }));

const ENUMS: JsonObject = {
  untitledSingle: { type: "string", enum: OPTIONS },
  titledSingle: { type: "string", oneOf: TITLED },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
  titledMulti: { type: "array", items: { anyOf: TITLED } },
};
