// LangGraph's node that runs the calls of a message.
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { INPUT_SHAPE } from "./input-shape.mjs";

export function open({ INPUT }) {
  const schema = z.object(INPUT_SHAPE);
  const echo = tool(async (input) => input, { name: "echo", description: "Echoes.", schema });
  const node = new ToolNode([echo]);
  const calls = [{ id: "call", name: "echo", args: INPUT, type: "tool_call" }];
  const message = new AIMessage({ content: "", tool_calls: calls });
  return { run: async () => (await node.invoke({ messages: [message] })).messages[0].content };
}
