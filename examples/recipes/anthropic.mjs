import Anthropic from "@anthropic-ai/sdk";
import { anthropicMessagesProtocol } from "sandgate/protocols";
import { context, engine, registry, sandboxes } from "./tools.mjs";

const client = new Anthropic();
const anthropic = anthropicMessagesProtocol(registry);
const { tools } = anthropic.toTools();
const messages = [{ role: "user", content: "What is 2 + 3?" }];
for (;;) {
  const request = { model: "claude-sonnet-5-5", max_tokens: 1_024, messages, tools };
  const turn = anthropic.read(await client.messages.create(request));
  const executions = await engine.dispatchTurn(turn, context);
  messages.push(...anthropic.toMessages(turn.calls, executions, turn));
  if (executions.every((execution) => execution === null)) {
    console.log(turn.cutOff ? `cut off: ${turn.stopReason}` : turn.text);
    break;
  }
}
await sandboxes.close();
