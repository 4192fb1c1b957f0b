import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { TOKENS, WritingTool } from "../../server/harness.ts";
import { connect, PEERS, type Person, startMcpServer } from "./harness.ts";

const WRITE = { name: "write_note", arguments: { text: "hello" } };
const NOBODY = "Permission denied: tool 'write_note' requires confirmation, and no approver is available";

function accepts(content: JsonObject): Person {
  return () => ({ action: "accept", content });
}

describe.each(PEERS)("a call that needs a confirmation, of a client of %s", (peer) => {
  test("runs once the person at the client allows it, who sees what will run", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const asked: JsonObject[] = [];
    const person: Person = (params) => {
      expect(writing.inputs).toEqual([]);
      asked.push(params);
      return { action: "accept", content: { decision: "allow" } };
    };
    const client = await connect(server, peer, { person });
    expect(await client.callTool(WRITE)).toMatchObject({
      content: [{ type: "text", text: '{"written":"hello"}' }],
    });
    expect(asked).toMatchObject([
      {
        message: expect.stringContaining(
          'Allow the tool \'write_note\' (write) to run with these arguments?\n| {"text":"hello"}',
        ),
        requestedSchema: { properties: { decision: { enum: ["deny", "allow"] } }, required: ["decision"] },
      },
    ]);
    expect(writing.inputs).toEqual([{ text: "hello" }]);
  });

  test.each([
    ["chooses to deny", { action: "accept", content: { decision: "deny" } }],
    ["declines", { action: "decline" }],
    ["closes the form", { action: "cancel" }],
  ])("does not run if the person %s", async (_what, response) => {
    const writing = new WritingTool();
    const client = await connect(await startMcpServer([writing.tool], { confirm: "elicitation" }), peer, {
      person: () => response,
    });
    expect(await client.callTool(WRITE)).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "User denied this operation." }],
    });
    expect(writing.inputs).toEqual([]);
  });

  test("is denied at once if the client cannot show forms", async () => {
    const writing = new WritingTool();
    const client = await connect(await startMcpServer([writing.tool], { confirm: "elicitation" }), peer);
    expect(await client.callTool(WRITE)).toMatchObject({
      isError: true,
      content: [{ type: "text", text: NOBODY }],
    });
    expect(writing.inputs).toEqual([]);
  });

  test("is denied, and the person at the client not asked, with confirm: none", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "none" });
    const client = await connect(server, peer, { person: accepts({ decision: "allow" }) });
    expect(await client.callTool(WRITE)).toMatchObject({ isError: true, content: [{ text: NOBODY }] });
    expect(writing.inputs).toEqual([]);
  });

  test("waits for an approver where their address is configured", async () => {
    const writing = new WritingTool();
    const approvalUrl = "https://console.example.com";
    const server = await startMcpServer([writing.tool], { confirm: "none", approvalUrl });
    const client = await connect(server, peer);
    const told: unknown[] = [];
    const call = client.callTool(WRITE, { onprogress: (progress) => told.push(progress) });
    await expect.poll(() => server.sessions.openConfirmations().length).toBe(1);
    await expect
      .poll(() => told)
      .toMatchObject([{ message: `Waiting for a person to confirm the call at ${approvalUrl}` }]);
    const confirmations = `http://${server.address}/v1/confirmations`;
    const headers = { authorization: `Bearer ${TOKENS.carol}`, "content-type": "application/json" };
    const listed = (await (await fetch(confirmations, { headers })).json()) as JsonObject;
    expect(listed["confirmations"]).toHaveLength(1);
    const [confirmation] = server.sessions.openConfirmations();
    if (confirmation === undefined) throw new Error("there is no confirmation");
    const { id, digest, sessionId, turnId } = confirmation;
    const url = `http://${server.address}/v1/sessions/${sessionId}/turns/${turnId}/confirmations/${id}`;
    const body = JSON.stringify({ decision: "allow", digest });
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
    expect(await call).toMatchObject({ content: [{ text: '{"written":"hello"}' }] });
  });

  test("names the address if no approver came in time", async () => {
    const approvalUrl = "https://console.example.com";
    const sessions = { confirmations: { timeoutMs: 50 } };
    const server = await startMcpServer(
      [new WritingTool().tool],
      { confirm: "elicitation", approvalUrl },
      { sessions },
    );
    expect(await (await connect(server, peer)).callTool(WRITE)).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/^Nobody confirmed this operation within/) },
        { text: expect.stringContaining(approvalUrl) },
      ],
    });
  });

  test("is not confirmed by what the client says about a form that it did not get", async () => {
    const writing = new WritingTool();
    const person = accepts({ decision: "yes" });
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const call = (await connect(server, peer, { person })).callTool(WRITE);
    // Clients may refuse to send it; the server never takes it.
    await call.catch(() => {});
    expect(writing.inputs).toEqual([]);
  });

  test("shows hostile arguments as foreign text", async () => {
    const messages: string[] = [];
    const person: Person = ({ message }) => {
      messages.push(String(message));
      return { action: "decline" };
    };
    const client = await connect(
      await startMcpServer([new WritingTool().tool], { confirm: "elicitation" }),
      peer,
      { person },
    );
    await client.callTool({ name: "write_note", arguments: { text: "a\u202eb\nThe policy asks: nothing" } });
    const [message = ""] = messages;
    expect(message).not.toContain("\u202e");
    expect(message.split("\n").filter((line) => line.startsWith("The policy asks"))).toHaveLength(1);
  });
});

describe.each(PEERS)("a question of a tool, to a client of %s", (peer) => {
  const asks = defineTool({
    name: "ask",
    description: "Asks.",
    inputSchema: { type: "object" },
    sideEffects: "read",
    host: async (_input, { ask }) => `chose ${await ask({ question: "Which?", choices: ["red", "blue"] })}`,
  });

  test("is answered by the person at the client", async () => {
    const server = await startMcpServer([asks], { confirm: "elicitation" });
    const client = await connect(server, peer, { person: accepts({ answer: "blue" }) });
    expect(await client.callTool({ name: "ask" })).toMatchObject({ content: [{ text: "chose blue" }] });
  });

  test("fails if the person declines", async () => {
    const client = await connect(await startMcpServer([asks], { confirm: "elicitation" }), peer, {
      person: () => ({ action: "decline" }),
    });
    expect(await client.callTool({ name: "ask" })).toMatchObject({ isError: true });
  });
});
