import { ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { openAiChatProtocol } from "sandgate/protocols";
import { close, session } from "./sessions.mjs";

const openai = openAiChatProtocol(session.registry);
const turn = session.turn({ userText: "What is 2 + 3?" });
const model = new ChatOpenAI({ model: "gpt-5.5" }).bindTools(openai.toTools().tools);

/** Dispatches the calls of the model's last message. LangGraph has parsed those in `tool_calls`; the others have broken JSON. */
async function callTools({ messages }) {
  const { tool_calls: parsed = [], invalid_tool_calls: broken = [] } = messages.at(-1);
  const calls = [...parsed, ...broken].map(({ id, name, args }) => ({ id, name, arguments: args }));
  const executions = await turn.dispatchAll(calls);
  const results = openai.toResults(calls, executions);
  return {
    messages: results.map(({ tool_call_id, content }) => new ToolMessage({ tool_call_id, content })),
  };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tools", callTools)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => {
    const { tool_calls: parsed = [], invalid_tool_calls: broken = [] } = messages.at(-1);
    return parsed.length + broken.length > 0 ? "tools" : END;
  })
  .addEdge("tools", "model")
  .compile();
const { messages } = await graph.invoke({ messages: [{ role: "user", content: "What is 2 + 3?" }] });
console.log(messages.at(-1).text);
await close();
