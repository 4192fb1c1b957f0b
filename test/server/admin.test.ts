import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow, HostPolicy, type RuntimePolicy } from "../../src/policy/policy.ts";
import type { AdminEvent } from "../../src/server/admin.ts";
import type { Server } from "../../src/server/server.ts";
import { type Answer, dispatchBody, executionOf, HeldTool, send, until } from "../executor/harness.ts";
import {
  type ClientName,
  CREDENTIALS,
  type ListedConfirmation,
  refusalOf,
  startServer,
  TestClient,
  TOKENS,
  WITH_EXECUTOR,
  WritingTool,
} from "./harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };
const ALLOW = "rules:\n  - { name: notes, tools: [write_note], effect: allow, sandboxes: [host] }\n";
const DENY = "rules:\n  - { name: none, tools: [write_note], effect: deny }\n";

function put(
  server: Server,
  policy: string,
  name: ClientName = "frank",
  type = "application/yaml",
): Promise<Answer> {
  return new TestClient(server, name).send("PUT", "/v1/policy", undefined, {
    body: policy,
    headers: { "content-type": type, "content-length": String(Buffer.byteLength(policy)) },
  });
}

function ready(server: Server): Promise<Answer> {
  return send(server, { method: "GET", path: "/readyz" });
}

describe("an admin's policy", () => {
  test("holds for the next calls of sessions and of the executor, with its revision", async () => {
    const tool = new WritingTool("write_note", { sideEffects: "read" });
    const events: AdminEvent[] = [];
    const server = await startServer([tool.tool], {
      ...WITH_EXECUTOR,
      onAdmin: (event) => events.push(event),
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const run = async (): Promise<string | undefined> => {
      const { turnId } = await alice.dispatch(session, [CALL]);
      return (await alice.executions(session, turnId))[0]?.error?.code;
    };
    expect(await run()).toBeUndefined();
    const denied = await put(server, DENY);
    expect([denied.status, JSON.parse(denied.text)]).toEqual([
      200,
      { revision: expect.any(String), warnings: expect.any(Array) },
    ]);
    expect(await run()).toBe("permission_denied");
    const body: unknown = JSON.parse(dispatchBody({ name: "write_note", arguments: {} }));
    expect(
      executionOf(await new TestClient(server, "heidi").send("POST", "/v1/dispatch", body)).error?.code,
    ).toBe("permission_denied");
    expect(
      (await put(server, JSON.stringify({ rules: [], default: "deny" }), "frank", "application/json")).status,
    ).toBe(200);
    expect((await put(server, ALLOW)).status).toBe(200);
    expect(await run()).toBeUndefined();
    expect(events.map(({ action, principal }) => [action, principal?.id])).toEqual(
      Array(3).fill(["policy-replaced", "frank"]),
    );
    expect(events[0]?.policyRevision).toBe(JSON.parse(denied.text).revision);
  });

  test("with errors changes nothing, and says where they are", async () => {
    const tool = new WritingTool("write_note", { sideEffects: "read" });
    const server = await startServer([tool.tool], { policyFile: "/srv/secret-place/sandgate.yaml" });
    const refused = await put(server, `${DENY}  - { name: other, tools: [write_note], effect: perhaps }\n`);
    expect(refusalOf(refused)).toBe("422 invalid_policy");
    expect(JSON.parse(refused.text)["problems"]).toMatchObject([
      { line: 3, column: 49, severity: "error", message: "must be one of allow, deny, ask" },
    ]);
    for (const bad of ["", "rules: [", "- x", "rules: &a [*a]", `rules: [{ name: ${"x".repeat(2_000_000)}`]) {
      const answer = await put(server, bad);
      expect(refusalOf(answer)).toBe("422 invalid_policy");
      expect(answer.text).not.toContain("secret-place");
    }
    const many = await put(server, `rules: [${"{},".repeat(500)}]`);
    expect(JSON.parse(many.text)["problems"]).toHaveLength(100);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [CALL]);
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
  });

  test("is not used unless it can be kept", async () => {
    const tool = new WritingTool("write_note", { sideEffects: "read" });
    const server = await startServer([tool.tool], {
      beforePolicy: () => Promise.reject(new Error("the disk is full")),
    });
    const answer = await put(server, DENY);
    expect(refusalOf(answer)).toBe("503 unavailable");
    expect(answer.text).not.toContain("disk");
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [CALL]);
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
  });

  test("cannot be one in Cedar, nor a list", async () => {
    const server = await startServer([]);
    for (const [body, message] of [
      [
        "cedar: policies.cedar\ngrants: {}\n",
        "a policy in Cedar is not supported here: name its file in sandgate.yaml",
      ],
      ["[org.yaml, team.yaml]", "must be a map (keys: rules, untrusted, default, invariants), not a list"],
    ] as const) {
      const answer = await put(server, body);
      expect(refusalOf(answer)).toBe("422 invalid_policy");
      expect(JSON.parse(answer.text)["problems"]).toMatchObject([{ line: 1, column: 1, message }]);
    }
  });

  test("is checked again if a reload replaces the tools meanwhile", async () => {
    const [read, drop] = [
      new WritingTool("read_note", { sideEffects: "read" }),
      new WritingTool("drop_table", { sideEffects: "destructive" }),
    ];
    const registry = new ToolRegistry().register(read.tool).register(drop.tool);
    let reloads = 0;
    const server = await startServer([read.tool], {
      beforePolicy: async () => {
        if (reloads++ === 0) server.reload({ registry, policy: new HostPolicy(), credentials: CREDENTIALS });
      },
    });
    const rules = "rules:\n  - { tools: ['*'], effect: allow, sandboxes: [host] }\n";
    const answer = await put(server, `${rules}invariants:\n  - never: { sideEffects: [destructive] }\n`);
    expect(refusalOf(answer)).toBe("422 invalid_policy");
    expect(answer.text).toContain("drop_table");
    reloads = 0;
    expect((await put(server, rules)).status).toBe(200);
    expect(reloads).toBe(2);
  });

  test("is refused of everyone else, and in other media types", async () => {
    const server = await startServer([], WITH_EXECUTOR);
    for (const name of Object.keys(TOKENS) as ClientName[]) {
      if (name === "frank") continue;
      expect(refusalOf(await put(server, "rules: []", name))).toBe("403 forbidden");
      for (const path of ["/v1/pause", "/v1/resume"])
        expect(refusalOf(await new TestClient(server, name).send("POST", path))).toBe("403 forbidden");
    }
    expect(refusalOf(await put(server, "rules: []", "frank", "text/plain"))).toBe(
      "415 unsupported_media_type",
    );
    const frank = new TestClient(server, "frank");
    for (const path of ["/v1/sessions/../pause", "/v1/policy/%2e%2e/pause", "/v1/pause/.", "/v1/pause/"])
      expect([path, (await frank.send("POST", path)).status]).toEqual([path, 404]);
    for (const path of ["/v1/policy", "/v1/pause", "/v1/resume", "/v1/pause/x", "/v1/pause?now"])
      expect([path, (await frank.send("GET", path)).status]).toEqual([path, 404]);
    expect((await ready(server)).text).toBe("ok\n");
  });
});

describe("a pause", () => {
  test("begins no call, neither of a message, of the executor, nor by an answer, until it is ended", async () => {
    const tool = new WritingTool();
    const server = await startServer([tool.tool], WITH_EXECUTOR);
    const [alice, carol, frank] = (["alice", "carol", "frank"] as const).map(
      (name) => new TestClient(server, name),
    ) as [TestClient, TestClient, TestClient];
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [CALL]);
    const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
    expect(await frank.json("POST", "/v1/pause")).toEqual({ paused: true });
    expect(await frank.json("POST", "/v1/pause")).toEqual({ paused: true });
    expect(await ready(server)).toMatchObject({ status: 503, text: "paused\n" });
    const dispatched: unknown = JSON.parse(dispatchBody({ name: "write_note", arguments: {} }));
    for (const sent of [
      alice.send("POST", `/v1/sessions/${session}/turns`, { calls: [CALL] }),
      new TestClient(server, "heidi").send("POST", "/v1/dispatch", dispatched),
      carol.answer(confirmation, { decision: "allow" }),
      carol.answer(confirmation, { decision: "always" }),
    ]) {
      const answer = await sent;
      expect([refusalOf(answer), answer.headers["retry-after"]]).toEqual(["503 paused", "1"]);
    }
    expect(await carol.confirmations()).toHaveLength(1);
    expect(tool.inputs).toEqual([]);
    expect(await frank.json("POST", "/v1/resume")).toEqual({ paused: false });
    expect((await ready(server)).text).toBe("ok\n");
    expect((await carol.answer(confirmation, { decision: "allow" })).status).toBe(200);
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
    expect(tool.inputs).toHaveLength(1);
  });

  test("denies calls that were accepted before and have not begun, and lets the others end", async () => {
    const held = new HeldTool();
    const tool = new WritingTool("read_note", { sideEffects: "read" });
    const server = await startServer([held.tool, tool.tool], {
      sessions: { confirmations: { tools: { hold: "auto" } }, limits: { concurrency: 1 } },
    });
    const [alice, carol, frank] = (["alice", "carol", "frank"] as const).map(
      (name) => new TestClient(server, name),
    ) as [TestClient, TestClient, TestClient];
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [
      { id: "h", name: "hold", arguments: {} },
      { id: "c2", name: "read_note", arguments: {} },
    ]);
    await until(() => held.started.length === 1);
    await frank.json("POST", "/v1/pause");
    held.release();
    expect(await alice.executions(session, turnId)).toMatchObject([
      { callId: "h", success: true },
      { callId: "c2", error: { code: "permission_denied", effect: "none" } },
    ]);
    expect(tool.inputs).toEqual([]);
    expect(await carol.json("GET", "/v1/confirmations")).toEqual({ confirmations: [] });
  });

  test("asks the policy for nothing, and outlasts a reload and another policy", async () => {
    let asked = 0;
    const policy: RuntimePolicy = {
      check: () => {
        asked++;
        return allow({ sandbox: "host" });
      },
    };
    const server = await startServer([new WritingTool().tool], { policy });
    const frank = new TestClient(server, "frank");
    await frank.json("POST", "/v1/pause");
    const session = await server.sessions.open();
    const denied = { error: { code: "permission_denied" } };
    expect(await session.turn().dispatch(CALL)).toMatchObject(denied);
    expect(asked).toBe(0);
    expect((await put(server, ALLOW)).status).toBe(200);
    expect(await session.turn().dispatch(CALL)).toMatchObject(denied);
    expect((await ready(server)).text).toBe("paused\n");
  });
});
