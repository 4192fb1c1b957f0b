import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { CallTracer } from "../../src/engine/call/events.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import type { MessageRecord } from "../../src/sessions/store/store.ts";
import { HeldTool, until } from "../executor/harness.ts";
import { type ListedConfirmation, refusalOf, startServer, TestClient, WritingTool } from "./harness.ts";

const READ = { id: "c1", name: "read_note", arguments: { text: "hi" } };

function reading(): WritingTool {
  return new WritingTool("read_note", { sideEffects: "read" });
}

/** A store that answers the first question for messages when the second one has come. */
class SlowStore extends SqliteSessionStore {
  readonly #second = Promise.withResolvers<void>();
  #asked = 0;

  override async messages(sessionId: string, turnId: string): Promise<readonly MessageRecord[]> {
    if (++this.#asked === 2) this.#second.resolve();
    await this.#second.promise;
    return super.messages(sessionId, turnId);
  }
}

describe("messages", () => {
  test("a message with calls is accepted, and its executions are in the order of the calls", async () => {
    const server = await startServer([reading().tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [READ, { ...READ, id: "c2", name: "nothing" }]);
    expect(await alice.executions(session, turnId)).toMatchObject([
      { callId: "c1", success: true, output: { written: "hi" } },
      { callId: "c2", error: { code: "not_found" } },
    ]);
  });

  test("what a provider is not offered of the tools is told with them", async () => {
    const many = Array.from({ length: 129 }, (_, at) => new WritingTool(`note_${at}`).tool);
    const server = await startServer(many);
    const alice = new TestClient(server, "alice");
    const path = `/v1/sessions/${await alice.open()}/definitions`;
    expect(await alice.json("GET", `${path}?format=openai`)).toMatchObject({
      tools: { length: 128 },
      problems: [{ tool: "note_128", path: "", reason: expect.any(String), effect: "left out" }],
    });
    expect(await alice.json("GET", path)).toMatchObject({ tools: { length: 129 }, problems: [] });
  });

  test("the message of a provider is read, and the results are written, in its format", async () => {
    const server = await startServer([reading().tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { tools } = await alice.json<{ tools: object[] }>(
      "GET",
      `/v1/sessions/${session}/definitions?format=openai`,
    );
    expect(tools).toMatchObject([{ type: "function", function: { name: "read_note" } }]);
    const call = { id: "c1", type: "function", function: { name: "read_note", arguments: '{"text":"hi"}' } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const body = { format: "openai", message };
    const { turnId } = await alice.json<{ turnId: string }>("POST", `/v1/sessions/${session}/turns`, body);
    await alice.executions(session, turnId);
    expect(await alice.json("GET", `/v1/sessions/${session}/turns/${turnId}?format=openai`)).toMatchObject({
      messages: [{ results: [{ role: "tool", tool_call_id: "c1", content: '{"written":"hi"}' }] }],
    });
    for (const refused of [
      { message },
      { format: "openai" },
      { format: "openai", message: {} },
      { ...body, calls: [] },
    ]) {
      expect(refusalOf(await alice.send("POST", `/v1/sessions/${session}/turns`, refused))).toBe(
        "400 bad_request",
      );
    }
    const path = `/v1/sessions/${session}/turns/${turnId}?format=latin`;
    expect(refusalOf(await alice.send("GET", path))).toBe("400 bad_request");
  });

  test("a message whose calls share an id is refused whole", async () => {
    const tool = reading();
    const server = await startServer([tool.tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const body = { calls: [READ, { ...READ, arguments: { text: "other" } }] };
    expect(refusalOf(await alice.send("POST", `/v1/sessions/${session}/turns`, body))).toBe(
      "400 bad_request",
    );
    expect(tool.inputs).toEqual([]);
  });

  test("the same message runs once, and another one with its id is 409", async () => {
    const tool = reading();
    const server = await startServer([tool.tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const ids = { turnId: "t1", messageId: "m1" };
    const first = await alice.dispatch(session, [READ], ids);
    const again = await alice.dispatch(session, [READ], ids);
    expect([first, again]).toEqual([ids, ids]);
    const other = { ...ids, calls: [{ ...READ, arguments: { text: "other" } }] };
    expect(refusalOf(await alice.send("POST", `/v1/sessions/${session}/turns`, other))).toBe(
      "409 message_conflict",
    );
    expect(await alice.executions(session, "t1")).toHaveLength(1);
    expect(tool.inputs).toHaveLength(1);
  });

  test("a message is 409 if its session is closed while it arrives", async () => {
    const server = await startServer([reading().tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [READ]);
    await alice.executions(session, turnId);
    const body = JSON.stringify({ turnId, calls: [READ] });
    const { hostname, port } = new URL(`http://${server.address}`);
    const sent = request({
      hostname,
      port,
      agent: false,
      method: "POST",
      path: `/v1/sessions/${session}/turns`,
      headers: {
        ...alice.authorization,
        "content-type": "application/json",
        "content-length": body.length,
        expect: "100-continue",
      },
    });
    sent.flushHeaders();
    await once(sent, "continue");
    await alice.json("DELETE", `/v1/sessions/${session}`);
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(409);
    expect(JSON.parse(await text(response))).toMatchObject({ error: { code: "closed" } });
  });

  test("a message with an id and without a turn runs once, and another one with its id is 409", async () => {
    const tool = reading();
    const server = await startServer([tool.tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const first = await alice.dispatch(session, [READ], { messageId: "m1" });
    expect(await alice.dispatch(session, [READ], { messageId: "m1" })).toEqual(first);
    const other = { messageId: "m1", calls: [{ ...READ, arguments: { text: "other" } }] };
    expect(refusalOf(await alice.send("POST", `/v1/sessions/${session}/turns`, other))).toBe(
      "409 message_conflict",
    );
    await alice.executions(session, first.turnId);
    expect(tool.inputs).toHaveLength(1);
    const elsewhere = await alice.open();
    const { turnId } = await alice.dispatch(elsewhere, [READ], { messageId: "m1" });
    await alice.executions(elsewhere, turnId);
    expect(tool.inputs).toHaveLength(2);
  });

  test("two messages that begin the same turn at the same time are both of it", async () => {
    const store = new SlowStore(join(mkdtempSync(join(tmpdir(), "sandgate-turns-")), "sessions.db"));
    const tool = reading();
    const server = await startServer([tool.tool], { sessions: { store } });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await Promise.all(
      ["m1", "m2"].map((messageId) => alice.dispatch(session, [READ], { turnId: "t1", messageId })),
    );
    expect(await alice.executions(session, "t1")).toHaveLength(2);
    expect(tool.inputs).toHaveLength(2);
  });

  test("a second message is accepted while the first waits, and runs after it", async () => {
    const held = new HeldTool();
    const tool = reading();
    const server = await startServer([held.tool, tool.tool], {
      sessions: { confirmations: { tools: { hold: "auto" } } },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [{ id: "h", name: "hold", arguments: {} }]);
    await until(() => held.started.length === 1);
    await alice.dispatch(session, [READ], { turnId });
    const answer = await alice.send("GET", `/v1/sessions/${session}/turns/${turnId}`);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      202,
      { messages: [{ executions: [null] }, { executions: [null] }] },
    ]);
    held.release();
    expect(await alice.executions(session, turnId)).toMatchObject([{ callId: "h" }, { callId: "c1" }]);
  });

  test("the response of a message can be the events up to its end", async () => {
    const server = await startServer([reading().tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/turns`, { body: { calls: [READ] } });
    await events.ended;
    expect(await events.opened).toBe(200);
    expect(events.received.map(({ type }) => type)).toEqual([
      "tool.decided",
      "tool.started",
      "tool.completed",
      "turn.ended",
    ]);
    expect(events.received.at(-1)).toMatchObject({ executions: [{ callId: "c1", success: true }] });
  });

  test("cancelling responds when the calls have ended, and closing a session cancels its calls", async () => {
    const held = new HeldTool();
    const server = await startServer([held.tool], {
      sessions: { confirmations: { tools: { hold: "auto" } } },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const hold = { id: "h", name: "hold", arguments: {} };
    const { turnId } = await alice.dispatch(session, [hold]);
    await until(() => held.started.length === 1);
    expect((await alice.send("POST", `/v1/sessions/${session}/turns/${turnId}/cancel`, {})).status).toBe(200);
    expect(held.cancelled).toEqual(["h"]);
    expect(await alice.executions(session, turnId)).toMatchObject([{ error: { code: "cancelled" } }]);
    await alice.dispatch(session, [hold]);
    await until(() => held.started.length === 2);
    const events = alice.events(`/v1/sessions/${session}/events`);
    await events.opened;
    expect((await alice.send("DELETE", `/v1/sessions/${session}`)).status).toBe(200);
    await events.ended;
    expect(held.cancelled).toEqual(["h", "h"]);
    expect(refusalOf(await alice.send("GET", `/v1/sessions/${session}/turns/${turnId}`))).toBe(
      "404 not_found",
    );
  });

  test("a session has at most 100 messages under way, and a client that asks for a head gets no body", async () => {
    const held = new HeldTool();
    const server = await startServer([held.tool], {
      sessions: { confirmations: { tools: { hold: "auto" } } },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const hold = { calls: [{ id: "h", name: "hold", arguments: {} }] };
    const answers = await Promise.all(
      Array.from({ length: 101 }, () => alice.send("POST", `/v1/sessions/${session}/turns`, hold)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(100).fill(202), 429]);
    const head = await alice.send("HEAD", `/v1/sessions/${session}/events`);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect((await alice.send("DELETE", `/v1/sessions/${session}`)).status).toBe(200);
  });

  test("the tracer of the server follows the calls of sessions", async () => {
    const followed: string[] = [];
    const tracer: CallTracer = {
      begin: ({ callId }) => {
        followed.push(callId);
        throw new Error("not followed further");
      },
      continue: () => tracer,
    };
    const server = await startServer([reading().tool], { tracer });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [READ]);
    await alice.executions(session, turnId);
    expect(followed).toEqual(["c1"]);
  });

  test("a session sees the tools that its patterns name, and no others", async () => {
    const server = await startServer([reading().tool, new WritingTool().tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open({ tools: ["read_*"], kind: "worker" });
    expect(await alice.json("GET", `/v1/sessions/${session}/definitions`)).toMatchObject({
      tools: [{ name: "read_note" }],
    });
  });
});

describe("a restart", () => {
  test("loses no question: it has the same id, digest and expiry, and its answer runs the call", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "sandgate-")), "sessions.db");
    const writing = new WritingTool();
    const call = { id: "c1", name: "write_note", arguments: { text: "hi" } };
    const before = await startServer([writing.tool], { sessions: { store: new SqliteSessionStore(file) } });
    const alice = new TestClient(before, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [call]);
    const [asked] = (await new TestClient(before, "carol").confirmations()) as readonly [ListedConfirmation];
    await before.close();
    expect(writing.inputs).toEqual([]);
    const after = await startServer([writing.tool], { sessions: { store: new SqliteSessionStore(file) } });
    const carol = new TestClient(after, "carol");
    const [again] = (await carol.confirmations()) as readonly [ListedConfirmation];
    expect(again).toEqual(asked);
    expect((await carol.answer(asked, { decision: "allow" })).status).toBe(200);
    expect(await new TestClient(after, "alice").executions(session, turnId)).toMatchObject([
      { success: true },
    ]);
    expect(writing.inputs).toEqual([{ text: "hi" }]);
  });
});
