import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { RefusedRequest } from "../../src/http/refusals.ts";
import type { Server } from "../../src/server/server.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import type { MessageRecord } from "../../src/sessions/store/store.ts";
import { HeldTool, send, until } from "../executor/harness.ts";
import { openApiDocument } from "../openapi-document.ts";
import { pathOf, refusalOf, startServer, TestClient, TOKENS, WritingTool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "server-store-"));
afterAll(() => rmSync(folder, { recursive: true }));

const DOCUMENT = openApiDocument<{
  readonly paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
}>();

/** A store in memory of which methods fail. */
function failing(): { readonly store: MemorySessionStore; readonly fail: (...methods: string[]) => void } {
  const failed = new Set<string>();
  const memory = new MemorySessionStore();
  const store = new Proxy(memory, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (failed.has(String(name))) throw new Error("/var/lib/sessions.db: the disk is full");
        return (member as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const fail = (...methods: string[]): void => {
    failed.clear();
    for (const method of methods) failed.add(method);
  };
  return { store, fail };
}

async function readyOf(server: Server): Promise<string> {
  const { status, text } = await send(server, { method: "GET", path: "/readyz" });
  return `${status} ${text.trim()}`;
}

const WRITE = { id: "c1", name: "write_note", arguments: {} };

test("Results of a session that is being closed are not found, also once the store has none of them", async () => {
  const [removed, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  class ClosingStore extends MemorySessionStore {
    override async removeSession(id: string): Promise<void> {
      super.removeSession(id);
      removed.resolve();
      await goOn.promise;
    }
  }
  const server = await startServer([new WritingTool().tool], { sessions: { store: new ClosingStore() } });
  const alice = new TestClient(server, "alice");
  const id = await alice.open();
  const { turnId } = await alice.dispatch(id, [{ ...WRITE, name: "nothing" }]);
  expect(await alice.executions(id, turnId)).toHaveLength(1);
  const closed = alice.send("DELETE", `/v1/sessions/${id}`);
  await removed.promise;
  expect(refusalOf(await alice.send("GET", `/v1/sessions/${id}/turns/${turnId}`))).toBe("404 not_found");
  goOn.resolve();
  expect((await closed).status).toBe(200);
});

test("Whatever a route does, a store that fails is 503 with the effect none, and the operator learns why", async () => {
  const { store, fail } = failing();
  const writing = new WritingTool();
  const refused: RefusedRequest[] = [];
  const server = await startServer([writing.tool], {
    sessions: { store },
    onRefusal: (each) => refused.push(each),
  });
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const id = await alice.open();
  const { turnId } = await alice.dispatch(id, [WRITE], { turnId: "t1", messageId: "m1" });
  const [confirmation] = await carol.confirmations();
  if (confirmation === undefined) throw new Error("no confirmation");
  const session = `/v1/sessions/${id}`;
  const cases: [string, TestClient, string, string, object?][] = [
    ["addSession", alice, "POST", "/v1/sessions", {}],
    ["addMessage", alice, "POST", `${session}/turns`, { calls: [WRITE] }],
    ["messages", alice, "POST", `${session}/turns`, { calls: [WRITE], turnId: "other" }],
    ["messages", alice, "GET", `${session}/turns/${turnId}`],
    ["calls", alice, "GET", `${session}/turns/${turnId}`],
    ["messages", alice, "POST", `${session}/turns/other/cancel`, {}],
    ["setMode", carol, "PATCH", session, { mode: "manual" }],
    ["confirmation", carol, "GET", pathOf({ ...confirmation, requestId: "other" })],
    [
      "resolveConfirmation",
      carol,
      "POST",
      pathOf(confirmation),
      { decision: "allow", digest: confirmation.digest },
    ],
  ];
  for (const [method, client, verb, path, body] of cases) {
    fail(method);
    const { status, text } = await client.send(verb, path, body);
    expect([method, verb, path, status, JSON.parse(text)]).toEqual([
      method,
      verb,
      path,
      503,
      {
        error: {
          code: "store_failed",
          message: "the server's store failed, so nothing ran: retry later",
          effect: "none",
        },
      },
    ]);
    const template = path
      .replace(id, "{id}")
      .replace(/\/turns\/\w+/, "/turns/{turnId}")
      .replace(/\/confirmations\/\w+/, "/confirmations/{requestId}");
    expect(DOCUMENT.paths[template]?.[verb.toLowerCase()]?.responses["503"]?.description).toContain(
      "store_failed",
    );
    expect(refused.at(-1)).toMatchObject({
      code: "store_failed",
      detail: expect.stringContaining("/var/lib/sessions.db: the disk is full"),
    });
  }
  expect(writing.inputs).toEqual([]);
  fail();
  await carol.answer(confirmation, { decision: "allow" });
  expect(await alice.executions(id, turnId)).toMatchObject([{ success: true }]);
  fail("removeSession");
  expect(refusalOf(await alice.send("DELETE", session))).toBe("503 store_failed");
  fail();
  expect((await alice.send("DELETE", session)).status).toBe(200);
});

test("While the end of a call cannot be stored, the server is not ready and runs nothing; clients read the end", async () => {
  const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warning.mockRestore());
  const { store, fail } = failing();
  const held = new HeldTool();
  const server = await startServer([{ ...held.tool, sideEffects: "read" }], { sessions: { store } });
  const alice = new TestClient(server, "alice");
  const id = await alice.open();
  const call = { id: "c1", name: held.tool.name, arguments: {} };
  const { turnId } = await alice.dispatch(id, [call]);
  await until(() => held.started.length === 1);
  expect(await readyOf(server)).toBe("200 ok");
  fail("end");
  held.release();
  expect(await alice.executions(id, turnId)).toMatchObject([{ success: true }]);
  expect(await readyOf(server)).toBe("503 the store cannot be written");
  expect(refusalOf(await alice.send("POST", `/v1/sessions/${id}/turns`, { calls: [call] }))).toBe(
    "503 store_failed",
  );
  fail();
  await until(() => server.sessions.problem === undefined);
  expect(await readyOf(server)).toBe("200 ok");
  expect(store.unfinishedMessages()).toEqual([]);
  expect(held.started).toEqual(["c1"]);
});

test("A message that goes on after a restart ends with turn.ended, also for results of before", async () => {
  const file = join(folder, "resumed.db");
  const writing = new WritingTool();
  const reading = new WritingTool("read_note", { sideEffects: "read" });
  const before = await startServer([writing.tool, reading.tool], {
    sessions: { store: new SqliteSessionStore(file) },
  });
  const id = await new TestClient(before, "alice").open();
  const calls = [{ id: "c0", name: "read_note", arguments: {} }, WRITE];
  await new TestClient(before, "alice").dispatch(id, calls, { turnId: "t1", messageId: "m1" });
  await new TestClient(before, "carol").confirmations();
  await before.close();

  const after = await startServer([writing.tool, reading.tool], {
    sessions: { store: new SqliteSessionStore(file) },
  });
  const events = new TestClient(after, "alice").events(`/v1/sessions/${id}/events`);
  await events.opened;
  const carol = new TestClient(after, "carol");
  const [confirmation] = await carol.confirmations();
  if (confirmation === undefined) throw new Error("no confirmation");
  await carol.answer(confirmation, { decision: "allow" });
  expect(await events.next("turn.ended")).toMatchObject({
    turnId: "t1",
    messageId: "m1",
    executions: [
      { callId: "c0", success: true },
      { callId: "c1", success: true },
    ],
  });
  events.close();
});

describe("DELETE", () => {
  test("of a session twice responds both times when its calls have ended", async () => {
    const held = new HeldTool();
    const stopped: string[] = [];
    const tool = { ...held.tool, sideEffects: "read" as const };
    const host = tool.host as (...given: unknown[]) => Promise<unknown>;
    const slow = {
      ...tool,
      host: (...given: unknown[]) =>
        host(...given).catch(async (error: unknown) => {
          await new Promise((resolve) => setTimeout(resolve, 50));
          stopped.push("stopped");
          throw error;
        }),
    };
    const server = await startServer([slow as never]);
    const alice = new TestClient(server, "alice");
    const id = await alice.open();
    await alice.dispatch(id, [{ id: "c1", name: held.tool.name, arguments: {} }]);
    await until(() => held.started.length === 1);
    const responses = [1, 2].map(async () => {
      const { status } = await alice.send("DELETE", `/v1/sessions/${id}`);
      return [status, ...stopped];
    });
    expect(await Promise.all(responses)).toEqual([
      [200, "stopped"],
      [200, "stopped"],
    ]);
  });
});

test("The bodies of messages are counted until they end, even if clients leave before they are stored", async () => {
  const stored = Promise.withResolvers<void>();
  let asked = 0;
  class SlowStore extends SqliteSessionStore {
    override async addMessage(message: MessageRecord): Promise<MessageRecord | undefined> {
      asked++;
      await stored.promise;
      return super.addMessage(message);
    }
  }
  const held = new HeldTool();
  const server = await startServer([{ ...held.tool, sideEffects: "read" }], {
    sessions: { store: new SlowStore(join(folder, "slow.db")) },
    limits: { bodyBytes: 1_000 },
  });
  const alice = new TestClient(server, "alice");
  const id = await alice.open();
  const call = { id: "c1", name: held.tool.name, arguments: { text: "x".repeat(850) } };
  const body = JSON.stringify({ calls: [call] });
  const { hostname: host, port } = new URL(`http://${server.address}`);
  const sent = Array.from({ length: 5 }, () => {
    const message = request({
      host,
      port,
      method: "POST",
      path: `/v1/sessions/${id}/turns`,
      agent: false,
      headers: {
        authorization: `Bearer ${TOKENS.alice}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      },
    });
    message.on("error", () => {});
    message.end(body);
    return message;
  });
  await until(() => asked === sent.length);
  await Promise.all(sent.map((message) => new Promise((resolve) => message.on("close", resolve).destroy())));
  // The server notices one connection after the other.
  for (let round = 0; round < 20; round++) await readyOf(server);
  stored.resolve();
  await until(() => held.started.length === 1);
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++) {
    statuses.push((await alice.send("POST", `/v1/sessions/${id}/turns`, { calls: [call] })).status);
  }
  expect(statuses).toContain(429);
});
