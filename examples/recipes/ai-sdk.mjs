import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import { aiSdkToolSet } from "sandgate/protocols";
import { context, engine, sandboxes } from "./tools.mjs";

const { tools, repairToolCall } = aiSdkToolSet(context, { engine });
const { text } = await generateText({
  model: openai("gpt-5.5"),
  prompt: "What is 2 + 3?",
  stopWhen: stepCountIs(5),
  tools,
  repairToolCall,
});
console.log(text);
await sandboxes.close();
