// OpenAI's agents SDK.
import { invokeFunctionTool, RunContext, setTracingDisabled, tool } from "@openai/agents";

export function open({ INPUT_TEXT, INPUT_SCHEMA }) {
  setTracingDisabled(true);
  const echo = tool({
    name: "echo",
    description: "",
    parameters: INPUT_SCHEMA,
    strict: false,
    execute: async (input) => input,
  });
  const runContext = new RunContext({});
  return { run: () => invokeFunctionTool({ tool: echo, runContext, input: INPUT_TEXT }) };
}
