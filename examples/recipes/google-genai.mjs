import { GoogleGenAI } from "@google/genai";
import { googleGenerateProtocol } from "sandgate/protocols";
import { context, engine, registry, sandboxes } from "./tools.mjs";

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const google = googleGenerateProtocol(registry);
const { tools } = google.toTools();
const contents = [{ role: "user", parts: [{ text: "What is 2 + 3?" }] }];
for (;;) {
  const request = { model: "gemini-3.5-flash-lite", contents, config: { tools } };
  const { candidates } = await client.models.generateContent(request);
  const turn = google.read({ candidates });
  const executions = await engine.dispatchTurn(turn, context);
  contents.push(...google.toMessages(turn.calls, executions, turn));
  if (executions.every((execution) => execution === null)) {
    console.log(turn.cutOff ? `cut off: ${turn.stopReason}` : turn.text);
    break;
  }
}
await sandboxes.close();
