import { describe, expect, test } from "vitest";
import { defineTool } from "../../../../src/engine/tool.ts";
import { Redaction } from "../../../../src/redaction/redaction.ts";
import { dispatch, dispatchBody, HeldTool } from "../../../executor/harness.ts";
import { EventReader, refusalOf, TestClient, WITH_EXECUTOR, WritingTool } from "../../harness.ts";
import { Browser, startConsole } from "../console.ts";

interface Summary {
  readonly ref: string;
  readonly callId: string;
  readonly toolName: string;
  readonly state: string;
  readonly phases: readonly { readonly name: string; readonly ms?: number }[];
}
interface Listed {
  readonly calls: readonly Summary[];
  readonly next?: string;
}

const ECHO = defineTool({
  name: "echo",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "none",
  host: (input) => input as object as never,
});

function feed(server: { readonly address: string }, { cookie = "" }: Browser): EventReader {
  return new EventReader(server.address, "/v1/calls/events", { headers: { cookie } });
}

describe("GET /v1/calls", () => {
  test("lists calls of all sessions and of the executor, the newest first, by what they are", async () => {
    const server = await startConsole([ECHO, new WritingTool().tool], WITH_EXECUTOR);
    const [alice, heidi] = [new TestClient(server, "alice"), new TestClient(server, "heidi")];
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [{ id: "c1", name: "echo", arguments: {} }]);
    await alice.executions(session, turnId);
    await dispatch(server, dispatchBody({ id: "x1", name: "missing" }), { headers: heidi.authorization });
    await alice.dispatch(session, [{ id: "c2", name: "write_note", arguments: {} }]);
    const carol = new TestClient(server, "carol");
    await carol.confirmations();
    const browser = await Browser.operator(server);
    const list = async (query: string, of: Browser | TestClient = browser): Promise<string[]> =>
      (JSON.parse((await of.send("GET", `/v1/calls${query}`)).text) as Listed).calls.map(
        ({ callId }) => callId,
      );
    expect(await list("")).toEqual(["c2", "x1", "c1"]);
    expect(await list("?state=waiting")).toEqual(["c2"]);
    expect(await list("?state=ended")).toEqual(["x1", "c1"]);
    expect(await list("?code=not_found")).toEqual(["x1"]);
    expect(await list("?tool=echo")).toEqual(["c1"]);
    expect(await list(`?session=${session}`)).toEqual(["c2", "c1"]);
    const { calls, next } = await browser.json<Listed>("/v1/calls?limit=2");
    expect(calls.length).toBe(2);
    expect(await list(`?before=${next}`)).toEqual(["c1"]);
    expect(await list("", carol)).toEqual(["c2", "c1"]);
    expect(await list("", new TestClient(server, "mallory"))).toEqual([]);
    expect(await list("", new TestClient(server, "erin"))).toEqual(["c2", "x1", "c1"]);
    const done =
      calls.length === 2 ? (await browser.json<Listed>("/v1/calls?tool=echo")).calls[0] : undefined;
    expect(done).toMatchObject({
      sessionId: session,
      principal: { id: "alice" },
      sideEffects: "none",
      state: "completed",
      decision: "allow",
      sandbox: "host",
      durationMs: expect.any(Number),
      startedAt: expect.any(Number),
    });
    expect(done?.phases.map(({ name }) => name)).toEqual([
      "gate",
      "parse",
      "decide",
      "hook",
      "record",
      "sandbox",
      "end",
    ]);
  });

  test.each([
    "state=x",
    "limit=0",
    "limit=501",
    "limit=1e3",
    "before=1",
    "before=../x",
    "before=other-1",
  ])("refuses %s", async (query) => {
    const browser = await Browser.operator(await startConsole());
    expect(refusalOf(await browser.send("GET", `/v1/calls?${query}`))).toBe("400 bad_request");
  });

  test("is not for callers", async () => {
    const server = await startConsole();
    const alice = new TestClient(server, "alice");
    for (const path of ["/v1/calls", "/v1/calls/events"])
      expect(refusalOf(await alice.send("GET", path))).toBe("403 forbidden");
  });

  test("shows no secrets, and escapes names that reorder text", async () => {
    const server = await startConsole([ECHO], { ...WITH_EXECUTOR, redaction: new Redaction() });
    const secret = `AKIA${"Q".repeat(16)}`;
    const heidi = new TestClient(server, "heidi");
    await dispatch(server, dispatchBody({ id: "a\u202eb", name: "ech\u202eo" }), {
      headers: heidi.authorization,
    });
    await dispatch(server, dispatchBody({ id: "k", name: "echo", arguments: { key: secret } }), {
      headers: heidi.authorization,
    });
    const { text } = await (await Browser.operator(server)).send("GET", "/v1/calls");
    expect(text).not.toContain("\u202e");
    expect(text).not.toContain(secret);
    expect((JSON.parse(text) as Listed).calls.map(({ toolName }) => toolName)).toEqual([
      "echo",
      "ech\\u202eo",
    ]);
  });
});

describe("GET /v1/calls/events", () => {
  test("sends what changes: calls, the server, and that people are asked", async () => {
    const held = new HeldTool();
    const server = await startConsole([{ ...held.tool, sideEffects: "none" }, new WritingTool().tool]);
    const browser = await Browser.operator(server);
    const events = feed(server, browser);
    expect(await events.next("server")).toMatchObject({ server: { paused: false, tools: 2 } });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [{ id: "c1", name: "hold", arguments: {} }]);
    expect(await events.next("calls")).toMatchObject({ calls: [{ callId: "c1", state: "running" }] });
    events.received.length = 0;
    held.releaseAll();
    expect(await events.next("calls")).toMatchObject({ calls: [{ callId: "c1", state: "completed" }] });
    await alice.dispatch(session, [{ id: "c2", name: "write_note", arguments: {} }]);
    expect(await events.next("attention")).toEqual({ type: "attention" });
    events.received.length = 0;
    await browser.send("POST", "/v1/pause");
    expect(await events.next("server")).toMatchObject({ server: { paused: true } });
    await browser.send("DELETE", "/v1/console/session");
    await events.ended;
  });

  test("sends at most 500 calls at once, and how many it left out", async () => {
    const server = await startConsole([ECHO], { limits: { queued: 1_000 } });
    const events = feed(server, await Browser.operator(server));
    await events.next("server");
    const bob = new TestClient(server, "bob");
    const session = await bob.open();
    const calls = Array.from({ length: 900 }, (_, index) => ({
      id: `c${index}`,
      name: "nothing",
      arguments: {},
    }));
    await bob.dispatch(session, calls);
    const counted = (): number =>
      events.received.reduce(
        (sum, { type, calls: sent, count }) =>
          sum + (type === "calls" ? (sent as unknown[]).length : type === "lost" ? (count as number) : 0),
        0,
      );
    while (counted() < 900) await new Promise((resolve) => setTimeout(resolve, 5));
    const sizes = events.received.flatMap(({ type, calls: sent }) =>
      type === "calls" ? [(sent as unknown[]).length] : [],
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
  });

  test("sends an approver only the calls that it may know about", async () => {
    const server = await startConsole([ECHO]);
    const carol = new TestClient(server, "carol").events("/v1/calls/events");
    await carol.next("server");
    for (const name of ["bob", "alice"] as const) {
      const client = new TestClient(server, name);
      await client.dispatch(await client.open(), [{ id: `of-${name}`, name: "echo", arguments: {} }]);
    }
    await carol.next("calls");
    const seen = carol.received.flatMap(({ calls = [] }) => calls as Summary[]).map(({ callId }) => callId);
    expect(new Set(seen)).toEqual(new Set(["of-alice"]));
  });
});
