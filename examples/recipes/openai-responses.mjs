import OpenAI from "openai";
import { openAiResponsesProtocol } from "sandgate/protocols";
import { context, engine, registry, sandboxes } from "./tools.mjs";

const client = new OpenAI();
const openai = openAiResponsesProtocol(registry);
const { tools } = openai.toTools();
const input = [{ role: "user", content: "What is 2 + 3?" }];
for (;;) {
  const response = await client.responses.create({ model: "gpt-5.5", input, tools });
  const turn = openai.read(response);
  const executions = await engine.dispatchTurn(turn, context);
  if (turn.cutOff || executions.every((execution) => execution === null)) {
    console.log(turn.cutOff ? `cut off: ${turn.stopReason}` : turn.text);
    break;
  }
  input.push(...response.output, ...openai.toResults(turn.calls, executions));
}
await sandboxes.close();
