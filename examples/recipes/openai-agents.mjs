import { Agent, Runner, tool } from "@openai/agents";
import { agentsToolSet } from "sandgate/protocols";
import { context, engine, sandboxes } from "./tools.mjs";

const { tools, toolErrorFormatter, callModelInputFilter } = agentsToolSet(context, { engine });
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
await sandboxes.close();
