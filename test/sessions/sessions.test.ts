import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { deny } from "../../src/policy/policy.ts";
import { nativeProtocol } from "../../src/protocols/providers/native.ts";
import type { SessionMode } from "../../src/sessions/modes/mode.ts";
import type { SessionsOptions } from "../../src/sessions/options.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { call, Gate, testSessions, tool } from "./harness.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sessions-")));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a session", () => {
  test("has an id that cannot be guessed, and sorts by time", async () => {
    const { sessions } = await testSessions([]);
    const ids = [];
    for (let count = 0; count < 100; count++) ids.push((await sessions.open()).id);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[\dA-HJKMNP-TV-Z]{36}$/);
    expect(ids.map((id) => id.slice(0, 10))).toEqual(ids.map((id) => id.slice(0, 10)).sort());
  });

  test("is refused if its id is in use or invalid, and so is a turn", async () => {
    const { sessions } = await testSessions([]);
    const session = await sessions.open({ id: "mine" });
    await expect(sessions.open({ id: "mine" })).rejects.toMatchObject({ code: "session_exists" });
    for (const id of ["", "a b", "x".repeat(129), "a/b", 1 as never]) {
      await expect(sessions.open({ id })).rejects.toThrow(TypeError);
      expect(() => session.turn({ id })).toThrow(TypeError);
    }
    session.turn({ id: "t1" });
    expect(() => session.turn({ id: "t1" })).toThrow(/already/);
    expect((await session.findTurn("t1"))?.id).toBe("t1");
  });

  test("says of which tools no call can run: those that the configuration denies by name or by class", async () => {
    const tools = [
      tool("look", "read"),
      tool("wipe", "destructive"),
      { ...tool("reset", "destructive"), confirm: "prompt" as const },
      tool("save", "write"),
    ];
    const { sessions } = await testSessions(tools, {
      confirmations: { default: { destructive: "deny" }, tools: { save: "deny" } },
    });
    const callable = async (mode: SessionMode) => {
      const session = await sessions.open({ mode });
      return tools.map(({ name }) => name).filter((name) => session.mayCall(name));
    };
    expect(await callable("cautious")).toEqual(["look", "reset"]);
    // These modes lift the levels of classes; a plan does once it is approved.
    expect(await callable("autonomous")).toEqual(["look", "wipe", "reset"]);
    expect(await callable("plan")).toEqual(["look", "wipe", "reset"]);
    const raised = { base: "cautious", tools: { wipe: "prompt", look: "deny" } } as const;
    expect(await callable(raised)).toEqual(["wipe", "reset"]);
    // What is said is what happens.
    const session = await sessions.open();
    const [denied] = await session.turn().dispatchAll([call("c1", "wipe")]);
    expect(denied?.error?.code).toBe("permission_denied");
  });

  test("forgets a turn that is idle, with its messages, and no other", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("look", "none", gate.host)], {
      store: new MemorySessionStore(),
    });
    const session = await sessions.open();
    const turn = session.turn({ id: "t1" });
    const results = turn.dispatchAll([call("c1", "look")], { messageId: "m1" });
    await gate.hasBegun(1);
    expect(await session.forgetTurn("t1")).toBe(false);
    gate.release("c1");
    await results;
    expect(await turn.messages()).toHaveLength(1);
    expect(await session.forgetTurn("t1")).toBe(true);
    expect(await session.findTurn("t1")).toBeUndefined();
    expect(await turn.messages()).toEqual([]);
  });

  test("returns the messages of a turn after one of them", async () => {
    const { sessions } = await testSessions([tool("look", "none", () => "")], {
      store: new MemorySessionStore(),
    });
    const turn = (await sessions.open()).turn();
    for (const messageId of ["m1", "m2", "m3"]) {
      await turn.dispatchAll([call("c1", "look")], { messageId });
    }
    const idsAfter = async (messageId?: string): Promise<unknown[]> => {
      const read: unknown[] = [];
      for await (const { id, executions } of (await turn.messagesAfter(messageId)) ?? [])
        read.push([id, executions[0]?.success]);
      return read;
    };
    expect(await idsAfter()).toEqual(["m1", "m2", "m3"].map((id) => [id, true]));
    expect(await idsAfter("m2")).toEqual([["m3", true]]);
    expect(await idsAfter("m3")).toEqual([]);
    expect(await turn.messagesAfter("other")).toBeUndefined();
  });

  test("is refused beyond 1,000 of one principal", async () => {
    const { sessions } = await testSessions([]);
    const principal = { id: "ann", kind: "agent" } as const;
    for (let count = 0; count < 1_000; count++) await sessions.open({ principal });
    await expect(sessions.open({ principal })).rejects.toMatchObject({ code: "too_many_sessions" });
    await sessions.open({ principal: { ...principal, id: "bob" } });
    await sessions.list()[0]?.close();
    expect((await sessions.open({ principal })).principal?.id).toBe("ann");
  });

  test("gives tools and policies its turn and its workspace, of which ~ is expanded", async () => {
    const seen: unknown[] = [];
    const { sessions } = await testSessions(
      [tool("look", "none", (_input, { turnId, workspace }) => `${turnId} ${workspace}`)],
      {
        policy: {
          check: ({ turnId, workspace }) => {
            seen.push([turnId, workspace]);
            return deny("no");
          },
        },
      },
    );
    const session = await sessions.open({ workspace: "~/code" });
    await session.turn({ id: "t1" }).dispatch(call("a", "look"));
    expect(seen).toEqual([["t1", join(homedir(), "code")]]);
    for (const workspace of ["/srv/", "//srv/.", "/srv/a/../"])
      expect((await sessions.open({ workspace })).workspace).toBe("/srv");
    await expect(sessions.open({ workspace: "code" })).rejects.toThrow(/absolute/);
  });

  test("hides what a tool threw, and limits the wall time by class", async () => {
    const fail = (): never => {
      throw new Error("the password is hunter2");
    };
    const { sessions, events } = await testSessions([
      tool("fail", "read", fail),
      tool("run", "execute", fail),
    ]);
    const turn = (await sessions.open({ mode: "autonomous" })).turn();
    const [read, run] = await turn.dispatchAll([call("a", "fail"), call("b", "run")]);
    expect(read?.error?.message).toMatch(/^Tool failed \(reference [\da-f]{6}\)$/);
    expect(read?.receipt.enforced).toEqual({ wallTimeMs: 60_000 });
    expect(run?.receipt.enforced).toEqual({ wallTimeMs: 600_000 });
    expect(JSON.stringify(events)).toContain("hunter2");
  });
});

describe("a tool that a session cannot see", () => {
  test("is not found, not listed and not offered", async () => {
    const tools = [
      tool("read_file", "read"),
      tool("read_mail", "read", undefined, { visibleTo: ({ principal }) => principal?.id === "ann" }),
      tool("read_broken", "read", undefined, {
        visibleTo: () => {
          throw new Error("broken");
        },
      }),
      tool("read_memory", "read", undefined, { tags: ["memory"] }),
      tool("write_file", "write"),
    ];
    const { sessions } = await testSessions(tools);
    const names = async (options: Parameters<typeof sessions.open>[0]): Promise<readonly string[]> =>
      (await sessions.open(options)).definitions().map(({ name }) => name);
    const ann = { id: "ann", kind: "user" } as const;
    expect(await names({})).toEqual(["read_file", "read_memory", "write_file"]);
    expect(await names({ principal: ann, kind: "worker", tools: ["read_*"] })).toEqual([
      "read_file",
      "read_mail",
    ]);
    const worker = await sessions.open({ kind: "worker", tools: ["read_*"] });
    expect(await worker.turn().dispatch(call("a", "read_memory"))).toMatchObject({
      error: { code: "not_found", message: "Tool 'read_memory' not found. Available: [read_file]" },
    });
    const offer = nativeProtocol(worker.registry).toTools();
    expect(JSON.stringify(offer.tools)).toContain("read_file");
    expect(JSON.stringify(offer.tools)).not.toContain("read_memory");
  });
});

describe("a trusted workspace", () => {
  const open = async (workspace: string, mode: "cautious" | "manual" = "cautious"): Promise<unknown[]> => {
    const { sessions } = await testSessions([tool("write_file", "write"), tool("shell", "execute")], {
      confirmations: {
        trustedWorkspaces: [join(folder, "link")],
        trustedWorkspaceOverrides: { execute: "prompt" },
        timeoutMs: 1,
      },
    });
    const turn = (await sessions.open({ workspace, mode })).turn();
    const results = await turn.dispatchAll([call("a", "write_file"), call("b", "shell")]);
    return results.map((execution) => execution?.error?.code);
  };
  mkdirSync(join(folder, "myproject", "below"), { recursive: true });
  mkdirSync(join(folder, "myproject-evil"));
  symlinkSync(join(folder, "myproject"), join(folder, "link"));
  symlinkSync(join(folder, "myproject-evil"), join(folder, "myproject", "out"));
  const asked = "confirmation_timeout";

  test.each([
    ["itself", "myproject"],
    ["a folder below it", "myproject/below"],
    ["a link to it", "link"],
  ])("lets writing run, and asks about executing, in %s", async (_case, path) => {
    expect(await open(join(folder, path))).toEqual([undefined, asked]);
  });

  test.each([
    ["a folder that begins with its name", "myproject-evil"],
    ["a link below it that leads out", "myproject/out"],
    ["a folder that does not exist", "myproject/missing"],
    ["a folder above it", "."],
  ])("is not %s", async (_case, path) => {
    expect(await open(join(folder, path))).toEqual([asked, asked]);
  });

  test("lifts nothing in the mode manual", async () => {
    expect(await open(join(folder, "myproject"), "manual")).toEqual([asked, asked]);
  });
});

describe("a quota", () => {
  test("of a tool denies the calls beyond it, before a person is asked", async () => {
    const { sessions, events } = await testSessions([tool("write_file", "write"), tool("read", "read")], {
      limits: { callsPerTool: { write_file: 10 } },
    });
    const session = await sessions.open({ mode: "autonomous" });
    const turn = session.turn();
    for (let count = 0; count < 10; count++) await turn.dispatch(call(`${count}`, "write_file"));
    await session.setMode("manual");
    const message = "Permission denied: tool 'write_file' was called 10 times, its limit in this session";
    const error = { code: "permission_denied", effect: "none", message };
    expect(await turn.dispatch(call("last", "write_file"))).toMatchObject({ error });
    expect(events.some(({ type }) => type === "tool.confirmation_requested")).toBe(false);
    await session.setMode("autonomous");
    expect(await turn.dispatch(call("r", "read"))).toMatchObject({ success: true });
    const other = (await sessions.open({ mode: "autonomous" })).turn();
    expect(await other.dispatch(call("o", "write_file"))).toMatchObject({ success: true });
  });

  test("of the session counts neither invalid nor denied calls", async () => {
    const policy: SessionsOptions["policy"] = {
      check: ({ tool: { name } }) =>
        name === "denied"
          ? deny("no")
          : { decision: "allow", grant: { sandbox: "host", limits: {}, capabilities: {} } },
    };
    const tools = [
      tool("read", "read", undefined, { inputSchema: { type: "object", required: ["path"] } }),
      tool("denied", "read"),
    ];
    const { sessions } = await testSessions(tools, { policy, limits: { calls: 2 } });
    const turn = (await sessions.open()).turn();
    for (let count = 0; count < 5; count++) {
      expect(await turn.dispatch(call("a", "denied"))).toMatchObject({ success: false });
      expect(await turn.dispatch(call("b", "read"))).toMatchObject({ error: { code: "validation_error" } });
    }
    const read = (): ReturnType<typeof turn.dispatch> => turn.dispatch(call("c", "read", { path: "" }));
    expect([await read(), await read()]).toMatchObject([{ success: true }, { success: true }]);
    const message = "Permission denied: this session made 2 calls, its limit";
    expect(await read()).toMatchObject({ error: { code: "permission_denied", message } });
  });
});

test.each<[string, object]>([
  ["an unknown option", { confirmations: { timeout: 5 } }],
  ["an unknown level", { confirmations: { tools: { a: "always" } } }],
  ["an unknown class", { confirmations: { default: { wirte: "auto" } } }],
  ["'prompt_once' for a class", { confirmations: { default: { write: "prompt_once" } } }],
  ["a relative workspace", { confirmations: { trustedWorkspaces: ["code"] } }],
  ["a time-out of 0", { confirmations: { timeoutMs: 0 } }],
  ["65 calls at once", { limits: { concurrency: 65 } }],
  ["a quota of -1", { limits: { calls: -1 } }],
])("sessions are not opened with %s", async (_what, more) => {
  await expect(testSessions([], more)).rejects.toThrow(TypeError);
});

test.each(["", " ", "x".repeat(129), 7])("a session is not opened with the name %j", async (name) => {
  const { sessions } = await testSessions([]);
  await expect(sessions.open({ name } as never)).rejects.toThrow("1 to 128 characters");
});

test("a session is not opened with an unknown option", async () => {
  const { sessions } = await testSessions([]);
  await expect(sessions.open({ workspce: "/srv" } as never)).rejects.toThrow(
    "unknown option 'workspce' of a session",
  );
});

test("openSessions refuses an unknown option, and one of a wrong type", async () => {
  await expect(testSessions([], { redactoin: {} } as never)).rejects.toThrow("did you mean 'redaction'?");
  await expect(testSessions([], { events: () => {} } as never)).rejects.toThrow(
    "events of the context must be an EventStream",
  );
});
