import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import {
  type Execution,
  type ListedConfirmation,
  refusalOf,
  startServer,
  TestClient,
  WritingTool,
} from "../harness.ts";

const LIMITS = { limits: { bodyBytes: 4_000 } };

/** A call whose message is almost as long as a body may be. */
function long(name: string): object {
  return { id: "c1", name, arguments: { text: "a".repeat(3_500) } };
}

/** A tool that reads so many characters. */
function reading(characters: number) {
  const calls: string[] = [];
  const tool = defineTool({
    name: "read",
    description: "Reads.",
    inputSchema: { type: "object" },
    sideEffects: "read",
    host: (_, { callId }) => {
      calls.push(callId);
      return "x".repeat(characters);
    },
  });
  return { tool, calls };
}

describe("what a server keeps of messages", () => {
  test("a turn that was not used for long is forgotten, told as 410, and its message does not run again", async () => {
    const tool = new WritingTool("read_note", { sideEffects: "read" });
    const server = await startServer([tool.tool], LIMITS);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const at = `/v1/sessions/${session}/turns`;
    for (let turn = 0; turn < 10; turn++) {
      await alice.dispatch(session, [long("read_note")], { messageId: `m${turn}` });
      expect(await alice.executions(session, `m${turn}`)).toMatchObject([{ success: true }]);
    }
    expect(refusalOf(await alice.send("GET", `${at}/m0`))).toBe("410 forgotten");
    expect(refusalOf(await alice.send("GET", `${at}/m0?format=other`))).toBe("400 bad_request");
    expect(refusalOf(await alice.send("POST", `${at}/m0/cancel`, {}))).toBe("410 forgotten");
    const dave = new TestClient(server, "dave");
    expect(refusalOf(await dave.send("POST", `${at}/m0/cancel`, {}))).toBe("403 forbidden");
    const again = { calls: [long("read_note")], messageId: "m0" };
    expect(refusalOf(await alice.send("POST", at, again))).toBe("410 forgotten");
    expect(refusalOf(await alice.send("GET", `${at}/unknown`))).toBe("404 not_found");
    expect(tool.inputs).toHaveLength(10);
    expect(await server.sessions.get(session)?.findTurn("m0")).toBeUndefined();
  });

  test("a turn takes no more messages than it has room for, and another turn does", async () => {
    const server = await startServer([new WritingTool("read_note", { sideEffects: "read" }).tool], LIMITS);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const at = `/v1/sessions/${session}/turns`;
    const statuses: number[] = [];
    for (let message = 0; message < 5; message++) {
      const body = { turnId: "t1", messageId: `m${message}`, calls: [long("read_note")] };
      const { status } = await alice.send("POST", at, body);
      statuses.push(status);
      if (status === 202) await alice.executions(session, "t1");
    }
    expect(statuses).toEqual([202, 202, 409, 409, 409]);
    const full = { turnId: "t1", calls: [] };
    expect(refusalOf(await alice.send("POST", at, { ...full, calls: [long("read_note")] }))).toBe(
      "409 turn_full",
    );
    const known = { turnId: "t1", messageId: "m0", calls: [long("read_note")] };
    expect((await alice.send("POST", at, known)).status).toBe(202);
    expect((await alice.send("POST", at, { ...known, turnId: "t2" })).status).toBe(202);
  });

  test("messages that wait for a person are refused with retry-after when they take up all the room", async () => {
    const server = await startServer([new WritingTool().tool], LIMITS);
    const [alice, bob, dave] = [
      new TestClient(server, "alice"),
      new TestClient(server, "bob"),
      new TestClient(server, "dave"),
    ];
    const [first, second, third] = [await alice.open(), await alice.open(), await alice.open()];
    const fill = async (session: string): Promise<readonly string[]> => {
      const answers: string[] = [];
      for (let message = 0; message < 8; message++) {
        const body = { calls: [long("write_note")] };
        const answer = await alice.send("POST", `/v1/sessions/${session}/turns`, body);
        if (answer.status === 429) expect(answer.headers["retry-after"]).toBe("1");
        answers.push(answer.status === 202 ? "202" : refusalOf(answer));
      }
      return answers;
    };
    const full = [...Array<string>(7).fill("202"), "429 overloaded"];
    expect(await fill(first)).toEqual(full);
    expect(await fill(second)).toEqual(full);
    expect(await fill(third)).toEqual(["202", ...Array<string>(7).fill("429 overloaded")]);
    const others = await bob.open();
    await bob.dispatch(others, [long("write_note")]);
    expect(await dave.confirmations(4)).toHaveLength(4);
    await alice.json("DELETE", `/v1/sessions/${first}`);
    expect(await fill(third)).toEqual([
      ...Array<string>(6).fill("202"),
      ...Array<string>(2).fill("429 overloaded"),
    ]);
  });

  test("a session that the embedder closes gives back its room, and ends its streams of events", async () => {
    const server = await startServer([new WritingTool().tool], LIMITS);
    const alice = new TestClient(server, "alice");
    const statuses: number[] = [];
    for (let opened = 0; opened < 4; opened++) {
      const session = await alice.open();
      const events = alice.events(`/v1/sessions/${session}/events`);
      await events.opened;
      for (let message = 0; message < 7; message++) {
        const body = { calls: [long("write_note")] };
        statuses.push((await alice.send("POST", `/v1/sessions/${session}/turns`, body)).status);
      }
      await server.sessions.get(session)?.close();
      await events.ended;
    }
    expect(statuses).toEqual(Array<number>(28).fill(202));
  });

  test("the results of a message that are too long cancel its further calls", async () => {
    const { tool, calls } = reading(20_000);
    const server = await startServer([tool], LIMITS);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const ids = Array.from({ length: 20 }, (_, index) => ({ id: `c${index}`, name: "read", arguments: {} }));
    const { turnId } = await alice.dispatch(session, ids);
    const executions = await alice.executions(session, turnId);
    expect(executions.map(({ callId }) => callId)).toEqual(ids.map(({ id }) => id));
    expect(executions[0]?.success).toBe(true);
    expect(executions.at(-1)).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(calls.length).toBeLessThan(10);
  });
});

test("a turn that was forgotten before a restart is 410 after it, and its message does not run again", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "sandgate-keeping-")), "sessions.db");
  const tool = new WritingTool("read_note", { sideEffects: "read" });
  const start = () =>
    startServer([tool.tool], { ...LIMITS, sessions: { store: new SqliteSessionStore(file) } });
  const before = await start();
  const session = await new TestClient(before, "alice").open();
  for (let turn = 0; turn < 10; turn++) {
    const alice = new TestClient(before, "alice");
    await alice.dispatch(session, [long("read_note")], { messageId: `m${turn}` });
    await alice.executions(session, `m${turn}`);
  }
  await before.close();
  const alice = new TestClient(await start(), "alice");
  const at = `/v1/sessions/${session}/turns`;
  expect(refusalOf(await alice.send("GET", `${at}/m0`))).toBe("410 forgotten");
  const again = { calls: [long("read_note")], messageId: "m0" };
  expect(refusalOf(await alice.send("POST", at, again))).toBe("410 forgotten");
  expect(refusalOf(await alice.send("GET", `${at}/unknown`))).toBe("404 not_found");
  expect(tool.inputs).toHaveLength(10);
});

test("the results of a message that goes on after a restart count like those of others", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "sandgate-keeping-")), "sessions.db");
  const { tool, calls } = reading(20_000);
  const start = () =>
    startServer([tool, new WritingTool().tool], {
      ...LIMITS,
      sessions: { store: new SqliteSessionStore(file) },
    });
  const before = await start();
  const session = await new TestClient(before, "alice").open();
  const write = [{ id: "c1", name: "write_note", arguments: {} }];
  await new TestClient(before, "alice").dispatch(session, write, { turnId: "t1" });
  await new TestClient(before, "dave").confirmations();
  const reads = Array.from({ length: 20 }, (_, index) => ({ id: `c${index}`, name: "read", arguments: {} }));
  await new TestClient(before, "alice").dispatch(session, reads, { turnId: "t2" });
  await before.close();
  const after = await start();
  const dave = new TestClient(after, "dave");
  const [confirmation] = await dave.confirmations();
  expect((await dave.answer(confirmation as ListedConfirmation, { decision: "allow" })).status).toBe(200);
  const executions = await new TestClient(after, "alice").executions(session, "t2");
  expect(executions[0]?.success).toBe(true);
  expect(executions.at(-1)).toMatchObject({ error: { code: "cancelled", effect: "none" } });
  expect(calls.length).toBeLessThan(10);
});

test("a long turn is read in pages, each with the messages after the last one of the page before", async () => {
  const server = await startServer([reading(1_500_000).tool]);
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const path = `/v1/sessions/${session}/turns/t1`;
  for (let message = 0; message < 5; message++) {
    const calls = [{ id: "c1", name: "read", arguments: {} }];
    await alice.dispatch(session, calls, { turnId: "t1", messageId: `m${message}` });
    const after = message === 0 ? "" : `?after=m${message - 1}`;
    while ((await alice.send("GET", path + after)).status === 202);
  }
  interface Page {
    readonly messages: readonly { readonly messageId: string; readonly executions: readonly Execution[] }[];
    readonly next?: string;
  }
  const pages: Page[] = [await alice.json<Page>("GET", path)];
  for (let next = pages[0]?.next; next !== undefined; next = pages.at(-1)?.next)
    pages.push(await alice.json<Page>("GET", `${path}?after=${next}`));
  expect(pages.map(({ messages }) => messages.map(({ messageId }) => messageId))).toEqual([
    ["m0", "m1"],
    ["m2", "m3"],
    ["m4"],
  ]);
  expect(pages.flatMap(({ messages }) => messages.map(({ executions: [one] }) => one?.success))).toEqual(
    Array<boolean>(5).fill(true),
  );
  expect(await alice.json<Page>("GET", `${path}?after=m4`)).toEqual({ turnId: "t1", messages: [] });
  expect(refusalOf(await alice.send("GET", `${path}?after=unknown`))).toBe("404 not_found");
});
