import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Server } from "../../../src/server/server.ts";
import { connect, PEERS, send, startMcpServer } from "./harness.ts";

type Client = NonNullable<ReturnType<NonNullable<Server["mcp"]>["clientOf"]>>;
type Requests = Parameters<Client["ask"]>[0];

function form(properties: JsonObject): Requests[string] {
  return {
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties } },
  };
}

/** A server with a tool that asks its client. */
async function asking(requests: Requests): Promise<Server> {
  let server: Server | undefined;
  const tool = defineTool({
    name: "ask",
    description: "Asks.",
    inputSchema: { type: "object" },
    sideEffects: "read",
    unhandledErrors: "message",
    host: async (_input, context) => JSON.stringify(await server?.mcp?.clientOf(context)?.ask(requests)),
  });
  server = await startMcpServer([tool]);
  return server;
}

describe.each(PEERS)("A tool that asks a client of %s", (peer) => {
  test("gets what the person filled in", async () => {
    const server = await asking({ who: form({ name: { type: "string" } }) });
    const person = () => ({ action: "accept", content: { name: "Ada" } });
    const client = await connect(server, peer, { person });
    expect(await client.callTool({ name: "ask" })).toMatchObject({
      content: [{ text: '{"who":{"action":"accept","content":{"name":"Ada"}}}' }],
    });
  });

  test.each([
    ["password", { password: { type: "string" } }],
    ["token", { apiToken: { type: "string" } }],
    ["what", { what: { type: "string", title: "Your secret key" } }],
    ["field", { field: { type: "string", format: "password" } }],
  ])("cannot ask for secrets: %s", async (_name, properties) => {
    const client = await connect(await asking({ who: form(properties as JsonObject) }), peer, {
      person: () => {
        throw new Error("the person was asked");
      },
    });
    expect(await client.callTool({ name: "ask" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("must not ask for a secret") }],
    });
  });
});

test("a client of 2026-07-28 learns which capability a call would have needed", async () => {
  const server = await asking({ text: { method: "sampling/createMessage", params: {} } });
  expect(await send(server, "tools/call", { name: "ask" })).toMatchObject({
    status: 400,
    body: { error: { code: -32_021, data: { requiredCapabilities: { sampling: {} } } } },
  });
});

test("calls that wait for their clients leave the places of the session to others", async () => {
  const server = await asking({ who: form({ name: { type: "string" } }) });
  const capabilities = { elicitation: {} };
  for (let count = 0; count < 8; count++) {
    const { body } = await send(server, "tools/call", { name: "ask" }, { capabilities });
    expect(body).toMatchObject({ result: { resultType: "input_required" } });
  }
});

test("the end of a request does not end its call while it waits for its client", async () => {
  const server = await asking({ who: form({ name: { type: "string" } }) });
  const capabilities = { elicitation: {} };
  const { body } = await send(server, "tools/call", { name: "ask" }, { capabilities });
  const { requestState } = body["result"] as { requestState: string };
  const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
  const retried = await send(
    server,
    "tools/call",
    { name: "ask", requestState, inputResponses },
    { capabilities },
  );
  expect(retried.body).toMatchObject({ result: { resultType: "complete" } });
});
