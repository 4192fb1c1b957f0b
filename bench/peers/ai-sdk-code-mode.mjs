// The AI SDK's code mode: each execution has a new QuickJS context, in a worker that the package `run` keeps.
import { experimental_runCodeMode as runCodeMode } from "@ai-sdk/code-mode";
import { jsonSchema, tool } from "ai";

/** Each execution calls a tool of the host, which echoes the input. */
export function openCalling({ INPUT_SCHEMA, INPUT_TEXT }) {
  const echo = tool({ inputSchema: jsonSchema(INPUT_SCHEMA), execute: async (input) => input });
  const js = `return await tools.echo(${INPUT_TEXT});`;
  return { run: () => runCodeMode({ js, tools: { echo } }) };
}
