// OpenAI's agents SDK.
import { invokeFunctionTool, RunContext, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { INPUT_SHAPE } from "./input-shape.mjs";

/** With a JSON schema, which is only sent to the model and not used for validation. */
export function open({ INPUT_TEXT, INPUT_SCHEMA }) {
  return opened(INPUT_TEXT, { parameters: INPUT_SCHEMA, strict: false });
}

/** With zod parameters, which are validated. */
export function validated({ INPUT_TEXT }) {
  return opened(INPUT_TEXT, { parameters: z.object(INPUT_SHAPE) });
}

function opened(input, options) {
  setTracingDisabled(true);
  const echo = tool({ name: "echo", description: "", execute: async (input) => input, ...options });
  const runContext = new RunContext({});
  return { run: () => invokeFunctionTool({ tool: echo, runContext, input }) };
}
