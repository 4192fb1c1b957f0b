import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { HostPolicy, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { openAiChatProtocol, wrapTools } from "sandgate/protocols";
import { z } from "zod";

// The program's existing tools.
const existing = [
  tool(({ a, b }) => a + b, {
    name: "add",
    description: "Adds two numbers.",
    schema: z.object({ a: z.number(), b: z.number() }),
  }),
];

const registry = new ToolRegistry();
for (const each of wrapTools(existing, { sideEffects: { add: "none" } })) registry.register(each);
const sandboxes = await openSandboxes();
const context = { registry, sandboxes, policy: new HostPolicy(), sessionId: "recipe" };
const engine = new ToolDispatchEngine();
const openai = openAiChatProtocol(registry);
const model = new ChatOpenAI({ model: "gpt-5.5" }).bindTools(openai.toTools().tools);

const messages = [new HumanMessage("What is 2 + 3?")];
for (;;) {
  const message = await model.invoke(messages);
  messages.push(message);
  const { tool_calls: parsed = [], invalid_tool_calls: broken = [] } = message;
  const calls = [...parsed, ...broken].map(({ id, name, args }) => ({ id, name, arguments: args }));
  if (calls.length === 0) break;
  const executions = await engine.dispatchAll(calls, context);
  const results = openai.toResults(calls, executions);
  messages.push(...results.map(({ tool_call_id, content }) => new ToolMessage({ tool_call_id, content })));
}
console.log(messages.at(-1).text);
await sandboxes.close();
