// OpenAI's agents SDK.
import { invokeFunctionTool, RunContext, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { INPUT_SHAPE } from "./input-shape.mjs";

/** With a JSON schema, which goes to the model and validates nothing here. */
export function open({ INPUT_TEXT, INPUT_SCHEMA }) {
  return opened(INPUT_TEXT, { parameters: INPUT_SCHEMA, strict: false });
}

/** With parameters of zod, which validate. */
export function validated({ INPUT_TEXT }) {
  return opened(INPUT_TEXT, { parameters: z.object(INPUT_SHAPE) });
}

function opened(input, options) {
  setTracingDisabled(true);
  const echo = tool({ name: "echo", description: "", execute: async (input) => input, ...options });
  const runContext = new RunContext({});
  return { run: () => invokeFunctionTool({ tool: echo, runContext, input }) };
}
