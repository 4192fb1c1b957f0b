import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import { aiSdkToolSet } from "sandgate/protocols";
import { close, session } from "./sessions.mjs";

const { tools, repairToolCall } = aiSdkToolSet(session.turn({ userText: "What is 2 + 3?" }));
const { text } = await generateText({
  model: openai("gpt-5.5"),
  prompt: "What is 2 + 3?",
  stopWhen: stepCountIs(5),
  tools,
  repairToolCall,
});
console.log(text);
await close();
