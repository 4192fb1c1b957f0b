import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { aiSdkToolSet, wrapTools } from "sandgate/protocols";
import { z } from "zod";

// The program's existing tools.
const existing = {
  add: tool({
    description: "Adds two numbers.",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  }),
};

const registry = new ToolRegistry();
for (const each of wrapTools(existing, { sideEffects: { add: "none" } })) registry.register(each);
const sandboxes = await openSandboxes();
const context = { registry, sandboxes, policy: new HostPolicy(), sessionId: "recipe" };
const { tools, repairToolCall } = aiSdkToolSet(context);
const { text } = await generateText({
  model: openai("gpt-5.5"),
  prompt: "What is 2 + 3?",
  stopWhen: stepCountIs(5),
  tools,
  repairToolCall,
});
console.log(text);
await sandboxes.close();
