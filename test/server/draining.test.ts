import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Server } from "../../src/server/server.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import { type Answer, HeldTool, until } from "../executor/harness.ts";
import { refusalOf, startServer, TestClient, WritingTool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "server-draining-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const CONFIRMATIONS = { tools: { hold: "auto" } } as const;
const HOLD = { id: "hold", name: "hold", arguments: {} };
const WRITE = { id: "write", name: "write_note", arguments: {} };

/** Reads from the file of a closed server what became of the calls of a message. */
async function outcomes(file: string, session: string): Promise<readonly unknown[]> {
  const store: SessionStore = new SqliteSessionStore(file);
  const calls = await store.calls(session, "t1", "m1");
  await store.close();
  return calls.map(({ callId, state, execution }) => [callId, state, execution?.success]);
}

describe("A server that shuts down", () => {
  test("lets a call end that runs beside one that waits for a person, which waits on in the store", async () => {
    const file = join(folder, `${files++}.db`);
    const held = new HeldTool();
    const server = await startServer([held.tool, new WritingTool().tool], {
      sessions: { store: new SqliteSessionStore(file), confirmations: CONFIRMATIONS },
      limits: { drainMs: 600_000 },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [HOLD, WRITE], { turnId: "t1", messageId: "m1" });
    await new TestClient(server, "carol").confirmations();
    await until(() => held.started.length === 1);
    const closed = server.close();
    // Time for a server that does not wait to cancel the call.
    for (let turn = 0; turn < 100; turn++) await setImmediate();
    held.release();
    await closed;
    expect(held.cancelled).toEqual([]);
    expect(await outcomes(file, session)).toEqual([
      ["hold", "ended", true],
      ["write", "not-begun", undefined],
    ]);
  });

  test("does not wait for calls that wait for a person, nor for messages that wait for those", async () => {
    const file = join(folder, `${files++}.db`);
    const server = await startServer([new WritingTool().tool], {
      sessions: { store: new SqliteSessionStore(file) },
      limits: { drainMs: 600_000 },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [WRITE], { turnId: "t1", messageId: "m1" });
    await alice.dispatch(session, [WRITE], { turnId: "t1", messageId: "m2" });
    await new TestClient(server, "carol").confirmations();
    await server.close();
    expect(await outcomes(file, session)).toEqual([["write", "not-begun", undefined]]);
  });

  test.each([
    ["a session", () => "/v1/sessions", {}],
    ["a message", (session: string) => `/v1/sessions/${session}/turns`, { calls: [HOLD] }],
  ])("refuses %s whose body arrives later", async (_, pathIn, body) => {
    const held = new HeldTool();
    const server = await startServer([held.tool], {
      sessions: { confirmations: CONFIRMATIONS },
      limits: { drainMs: 600_000 },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [HOLD]);
    await until(() => held.started.length === 1);
    const finish = await beginRequest(server, alice, pathIn(session), JSON.stringify(body));
    const closed = server.close();
    expect(refusalOf(await finish())).toBe("503 draining");
    expect([held.started.length, server.sessions.list().length]).toEqual([1, 1]);
    held.releaseAll();
    await closed;
  });
});

/** Sends a request up to the last byte of its body. Returns a function that sends this byte and reads the response. */
async function beginRequest(
  server: Server,
  client: TestClient,
  path: string,
  body: string,
): Promise<() => Promise<Answer>> {
  const { hostname, port } = new URL(`http://${server.address}`);
  const sent = request({
    host: hostname,
    port,
    path,
    agent: false,
    method: "POST",
    headers: {
      ...client.authorization,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      // The response to it says that the server has the request.
      expect: "100-continue",
    },
  });
  onTestFinished(() => void sent.destroy());
  const response = new Promise<Answer>((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
  });
  response.catch(() => {});
  const hasContinued = new Promise<void>((resolve) => sent.on("continue", resolve));
  sent.flushHeaders();
  await hasContinued;
  sent.write(body.slice(0, -1));
  return () => {
    sent.end(body.slice(-1));
    return response;
  };
}
