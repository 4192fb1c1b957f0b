import { requestJson } from "./request.ts";

/** A message of the model. A real agent gets it from a provider: the server reads it with `format` and `message`. */
const MESSAGES = [
  [
    { id: "call_0", name: "look_up_price", arguments: { item: "pencil" } },
    { id: "call_1", name: "look_up_price", arguments: { item: "laptop" } },
  ],
  [
    { id: "call_0", name: "order", arguments: { item: "pencil" } },
    { id: "call_1", name: "order", arguments: { item: "laptop" } },
  ],
];

interface TurnResults {
  readonly messages: readonly {
    readonly results: readonly { readonly tool_call_id: string; readonly content: string }[];
  }[];
}

/** Runs the loop. Returns what the model reads of each call. */
export async function runAgent(url: string, token: string): Promise<readonly string[]> {
  const request = requestJson(url, token);
  const session = await request<{ id: string }>("POST", "/v1/sessions", {});
  const read: string[] = [];
  for (const calls of MESSAGES) {
    const { turnId } = await request<{ turnId: string }>("POST", `/v1/sessions/${session.id}/turns`, {
      calls,
    });
    const { messages } = await waitForEnd(() =>
      request<TurnResults>("GET", `/v1/sessions/${session.id}/turns/${turnId}?format=openai`),
    );
    for (const { results } of messages) read.push(...results.map(({ content }) => content));
  }
  await request("DELETE", `/v1/sessions/${session.id}`);
  return read;
}

/** A turn is complete when it has a result for each of its two calls. Events would tell that without asking again. */
async function waitForEnd(read: () => Promise<TurnResults>): Promise<TurnResults> {
  for (;;) {
    const turn = await read();
    if (turn.messages.every(({ results }) => results.length === 2)) return turn;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
