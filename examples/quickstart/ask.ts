import { defineTool, HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { startServer } from "sandgate/server";

/**
 * Dispatches a call of a tool that writes in a session of a server, and answers the server's question over HTTP, as an
 * approver does. Returns what happened, as lines.
 */
export async function askOnce(): Promise<readonly string[]> {
  const registry = new ToolRegistry().register(
    defineTool({
      name: "save_note",
      description: "Saves a note.",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      sideEffects: "write",
      host: ({ text }) => `saved: ${text}`,
    }),
  );
  await using sandboxes = await openSandboxes();
  await using server = await startServer({
    registry,
    policy: new HostPolicy(),
    sandboxes,
    listen: "127.0.0.1:0",
    sessions: {},
    credentials: [
      { id: "agent", token: "the-token-of-the-agent", roles: ["caller"] },
      { id: "ann", token: "the-token-of-ann-the-person", roles: ["approver"], approves: ["agent"] },
    ],
  });
  const send = sender(`http://${server.address}/v1/sessions`);

  const session = (await (await send("the-token-of-the-agent", "", {})).json()) as { id: string };
  const calls = [{ id: "call_1", name: "save_note", arguments: { text: "buy pencils" } }];
  const turn = await send("the-token-of-the-agent", `/${session.id}/turns`, { calls });

  const lines: string[] = [];
  for await (const event of eventsOf(turn)) {
    if (event.type === "tool.confirmation_requested") {
      lines.push(`asked:    ${event.question} ${event.inputSummary}`);
      const path = `/${session.id}/turns/${event.turnId}/confirmations/${event.requestId}`;
      // The digest identifies what the person has seen.
      const answer = { decision: "allow", digest: event.digest };
      const resolved = await send("the-token-of-ann-the-person", path, answer);
      const { decision, by } = (await resolved.json()) as { decision: string; by: string };
      lines.push(`answered: ${decision}, by ${by}`);
    }
    if (event.type === "turn.ended") lines.push(`result:   ${event.executions[0]?.output}`);
  }
  return lines;
}

/** The events that matter here. */
type Event =
  | ({ type: "tool.confirmation_requested"; turnId: string; requestId: string; digest: string } & {
      question: string;
      inputSummary: string;
    })
  | { type: "turn.ended"; executions: readonly { output: unknown }[] };

function sender(url: string): (token: string, path: string, body: object) => Promise<Response> {
  return async (token, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(url + path, {
      method: "POST",
      headers: { ...headers, ...(path.endsWith("/turns") && { accept: "text/event-stream" }) },
      body: JSON.stringify(body),
    });
    if (response.ok) return response;
    throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  };
}

/** Reads server-sent events. */
async function* eventsOf({ body }: Response): AsyncGenerator<Event> {
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield JSON.parse(data) as Event;
    }
  }
}
