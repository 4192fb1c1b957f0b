import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { aiSdkToolSet } from "sandgate/protocols";
import { close, session } from "./sessions.mjs";

const { tools } = aiSdkToolSet(session.turn({ userText: "What is 2 + 3?" }));
const agent = new Agent({
  id: "adder",
  name: "Adder",
  instructions: "Use the tools.",
  model: openai("gpt-5.5"),
  // Mastra accepts the tools of AI SDK. It calls `toModelOutput` with other parameters than AI SDK does.
  tools: Object.fromEntries(
    Object.entries(tools).map(([name, { toModelOutput: _, ...tool }]) => [name, tool]),
  ),
});
const { text } = await agent.generate("What is 2 + 3?", { maxSteps: 5 });
console.log(text);
await close();
