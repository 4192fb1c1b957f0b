import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Server } from "../../../src/server/server.ts";
import { TOKENS, WritingTool } from "../../server/harness.ts";
import { send, startMcpServer, urlOf } from "./harness.ts";

const APPROVAL_URL = "https://console.example.com";
const WRITE = { name: "write_note", arguments: { text: "hello" } };
const MESSAGE = `Waiting for a person to confirm the call at ${APPROVAL_URL}`;
const WIRES = ["2025-11-25", "2026-07-28"] as const;

async function start(mcp: { confirm?: "none" } = {}) {
  const writing = new WritingTool();
  return {
    writing,
    server: await startMcpServer([writing.tool], {
      confirm: "elicitation",
      approvalUrl: APPROVAL_URL,
      ...mcp,
    }),
  };
}

/** Connects a client that can send its person to an address. */
async function connect(
  server: Server,
  wire: (typeof WIRES)[number],
  person: (params: JsonObject) => JsonObject | Promise<JsonObject>,
  capability: { form?: Record<string, never>; url: Record<string, never> } = { url: {} },
): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: { elicitation: capability },
      versionNegotiation: { mode: wire === WIRES[0] ? "legacy" : { pin: WIRES[1] } },
    },
  );
  client.setRequestHandler(
    "elicitation/create",
    async ({ params }) => (await person(params as never)) as never,
  );
  const headers = { authorization: `Bearer ${TOKENS.alice}` };
  await client.connect(new StreamableHTTPClientTransport(urlOf(server), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** What an approver does, at the address. */
async function answer(server: Server, decision: "allow" | "deny"): Promise<void> {
  await expect.poll(() => server.sessions.openConfirmations().length).toBe(1);
  const [confirmation] = server.sessions.openConfirmations();
  if (confirmation === undefined) throw new Error("there is no confirmation");
  const { id, digest } = confirmation;
  await server.sessions.answer(id, { decision, digest, by: "carol" });
}

describe.each(WIRES)("A client of MCP %s that shows no forms, but addresses", (wire) => {
  test("sends its person to the approvers, and the call waits for their answer", async () => {
    const { server, writing } = await start();
    const asked: JsonObject[] = [];
    const client = await connect(server, wire, (params) => {
      asked.push(params);
      return { action: "accept" };
    });
    const call = client.callTool(WRITE);
    await expect.poll(() => asked).toMatchObject([{ mode: "url", url: APPROVAL_URL, message: MESSAGE }]);
    expect(writing.inputs).toEqual([]);
    await answer(server, "allow");
    expect(await call).toMatchObject({ content: [{ text: '{"written":"hello"}' }] });
    expect(writing.inputs).toEqual([{ text: "hello" }]);
    expect(asked).toHaveLength(1);
  });

  test("gets its result if the approvers answer before its person does", async () => {
    const { server } = await start({ confirm: "none" });
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    const call = (await connect(server, wire, () => promise)).callTool(WRITE);
    await answer(server, "allow");
    resolve({ action: "accept" });
    expect(await call).toMatchObject({ content: [{ text: '{"written":"hello"}' }] });
  });

  test.each(["decline", "cancel"])("has the call denied with %s", async (action) => {
    const { server, writing } = await start();
    const call = (await connect(server, wire, () => ({ action }))).callTool(WRITE);
    expect(await call).toMatchObject({ isError: true, content: [{ text: "User denied this operation." }] });
    expect(writing.inputs).toEqual([]);
  });
});

test.each(
  WIRES,
)("an approver can answer before the person who is shown a form, at a client of %s", async (wire) => {
  const { server, writing } = await start();
  const { promise, resolve } = Promise.withResolvers<JsonObject>();
  const call = (await connect(server, wire, () => promise, { form: {}, url: {} })).callTool(WRITE);
  await answer(server, "allow");
  await expect.poll(() => writing.inputs).toHaveLength(1);
  resolve({ action: "decline" });
  expect(await call).toMatchObject({ content: [{ text: '{"written":"hello"}' }] });
});

test("the address is not shown where a form can be", async () => {
  const { server } = await start();
  const asked: JsonObject[] = [];
  const person = (params: JsonObject): JsonObject => {
    asked.push(params);
    return { action: "accept", content: { decision: "allow" } };
  };
  const client = await connect(server, WIRES[1], person, { form: {}, url: {} });
  expect(await client.callTool(WRITE)).toMatchObject({ content: [{ text: '{"written":"hello"}' }] });
  expect(asked).toMatchObject([{ mode: "form" }]);
});

test("a client does not confirm a call by saying that its person went to the address", async () => {
  const { server, writing } = await start();
  const capabilities = { elicitation: { url: {} } };
  const { body } = await send(server, "tools/call", WRITE, { capabilities });
  const { requestState, inputRequests } = body["result"] as {
    requestState: string;
    inputRequests: JsonObject;
  };
  const [key = ""] = Object.keys(inputRequests);
  expect(inputRequests[key]).toEqual({
    method: "elicitation/create",
    params: { mode: "url", url: APPROVAL_URL, message: MESSAGE },
  });
  const inputResponses = { [key]: { action: "accept", content: { decision: "allow" } } };
  const retried = send(server, "tools/call", { ...WRITE, requestState, inputResponses }, { capabilities });
  await answer(server, "deny");
  expect((await retried).body).toMatchObject({ result: { isError: true } });
  expect(writing.inputs).toEqual([]);
});
