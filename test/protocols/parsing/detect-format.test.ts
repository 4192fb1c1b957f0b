import { expect, test } from "vitest";
import { detectMessageFormats, detectStreamFormats } from "../../../src/protocols/formats.ts";

const call = { id: "1", function: { name: "add", arguments: "{}" } };

test.each<[string, unknown, string[]]>([
  [
    "an Anthropic message with thinking alone",
    { role: "assistant", content: [{ type: "thinking" }] },
    ["anthropic"],
  ],
  [
    "an Anthropic response with text alone",
    { type: "message", role: "assistant", content: [] },
    ["anthropic"],
  ],
  ["an OpenAI message", { role: "assistant", content: null, tool_calls: [call] }, ["openai"]],
  ["an OpenAI response without calls", { choices: [] }, ["openai"]],
  ["a Cohere message", { role: "assistant", tool_plan: "", tool_calls: [call] }, ["cohere"]],
  ["a Gemini turn", { role: "model", parts: [] }, ["google"]],
  ["a list with a call and a number", [{ name: "add", arguments: {} }, 7], ["native"]],
  [
    "text alone",
    { role: "assistant", content: [{ type: "text", text: "" }] },
    ["openai", "anthropic", "ai-sdk"],
  ],
  ["a user's message", { role: "user", content: "Hi" }, []],
  ["a text", "Hi", []],
  ["an empty list", [], []],
  ["an unknown list", [{ a: 1 }], []],
])("detects the formats of %s", (_, message, formats) => {
  expect(detectMessageFormats(message)).toEqual(formats);
});

test("detects the format of a stream by the first event that identifies one", () => {
  expect(detectStreamFormats([7, { type: "ping" }, { type: "message_start" }])).toEqual(["anthropic"]);
  expect(detectStreamFormats([{ type: "message-start" }])).toEqual(["cohere"]);
  expect(detectStreamFormats([{ type: "ping" }])).toEqual([]);
});
