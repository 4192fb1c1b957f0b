import { Agent, Runner, tool } from "@openai/agents";
import { agentsToolSet } from "sandgate/protocols";
import { close, session } from "./sessions.mjs";

const { tools, toolErrorFormatter, callModelInputFilter } = agentsToolSet(
  session.turn({ userText: "What is 2 + 3?" }),
);
const runner = new Runner({
  toolNotFoundBehavior: "return_error_to_model",
  toolErrorFormatter,
  callModelInputFilter,
  // Traces would be sent to OpenAI, with the arguments and results of the calls.
  tracingDisabled: true,
});
const agent = new Agent({ name: "Adder", model: "gpt-5.5", tools: tools.map((options) => tool(options)) });
const { finalOutput } = await runner.run(agent, "What is 2 + 3?");
console.log(finalOutput);
await close();
