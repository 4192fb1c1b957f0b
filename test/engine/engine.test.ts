import { describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { allow, ask, deny, type PolicyDecision } from "../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const echo = hostTool((input) => input);

describe("what the model reads on failure", () => {
  test("an unknown tool is named beside those that there are", async () => {
    const ctx = await contextFor([hostTool(() => 1, { name: "a" }), hostTool(() => 1, { name: "b" })]);
    const execution = await dispatchTool(ctx);
    expect(execution.error).toEqual({
      code: "not_found",
      message: "Tool 'tool' not found. Available: [a, b]",
      effect: "none",
    });
    expect(execution).toMatchObject({ success: false, output: null, sandbox: null });
  });

  test("of many tools the first fifty are listed", async () => {
    const tools = Array.from({ length: 60 }, (_, index) => hostTool(() => 1, { name: `t${index}` }));
    const { error } = await dispatchTool(await contextFor(tools));
    expect(error?.message).toMatch(/t49, and 10 more\]$/);
  });

  test("a name as long and strange as the model likes is cut and cleaned", async () => {
    const ctx = await contextFor([echo]);
    const name = `\u001b[31m${"x".repeat(1e6)}`;
    const execution = await engine.dispatch({ id: "1", name, arguments: {} }, ctx);
    expect(execution?.error?.message).toHaveLength(101);
    expect(execution?.error?.message).not.toContain("\u001b");
  });

  test("broken JSON is located", async () => {
    const ctx = await contextFor([echo]);
    expect((await dispatchTool(ctx, '{"a":x}')).error).toEqual({
      code: "validation_error",
      message: "Invalid JSON: unexpected token at position 5",
      effect: "none",
    });
    const cut = await dispatchTool(ctx, '{"a":');
    expect(cut.error?.message).toBe("Invalid JSON: unexpected end at position 5");
    expect(cut.arguments).toBe('{"a":');
  });

  test("each argument against the schema is named, ten at most", async () => {
    const strings = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`p${i}`, { type: "string" }]));
    const inputSchema = { type: "object", properties: { path: { type: "string" }, ...strings } };
    const ctx = await contextFor([hostTool(() => 1, { inputSchema })]);
    const one = await dispatchTool(ctx, { path: 1 });
    expect(one.error).toMatchObject({
      code: "validation_error",
      message: "Invalid arguments: /path must be string",
    });
    const many = await dispatchTool(ctx, Object.fromEntries(Object.keys(strings).map((key) => [key, 1])));
    expect(many.error?.message.split("; ")).toHaveLength(11);
    expect(many.error?.message).toMatch(/; and 2 more$/);
  });

  test("a denial says that it is one, and nothing of the rule", async () => {
    const { events, seen } = recordEvents();
    const policy = { check: () => deny("rule 7 at policy.yaml:12: secrets") };
    const { error } = await dispatchTool(await contextFor([echo], { policy, events }));
    expect(error).toEqual({
      code: "permission_denied",
      message: "Permission denied: tool 'tool' is disabled by policy",
      effect: "none",
    });
    expect(seen).toMatchObject([{ type: "tool.failed", detail: "rule 7 at policy.yaml:12: secrets" }]);
  });

  test("a confirmation that nobody can give is a denial that says so", async () => {
    const policy = { check: () => ask("Really?") };
    const { error } = await dispatchTool(await contextFor([echo], { policy }));
    expect(error?.code).toBe("permission_denied");
    expect(error?.message).toBe(
      "Permission denied: tool 'tool' needs a confirmation, and there is nobody to give it",
    );
  });

  test("a tool that fails speaks for itself, without stack and without this machine's folders", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => {
      throw new Error(`HTTP 500: cannot open ${process.cwd()}/secret/key.pem`);
    });
    const { error } = await dispatchTool(await contextFor([tool], { events }));
    expect(error).toEqual({
      code: "execution_error",
      message: "HTTP 500: cannot open secret/key.pem",
      effect: "unknown",
    });
    expect(seen.at(-1)).toMatchObject({
      type: "tool.failed",
      detail: expect.stringContaining(process.cwd()),
    });
  });

  test("a message of any length is cut to what a model can use", async () => {
    const tool = hostTool(() => {
      throw new Error("x".repeat(1e6));
    });
    const { error } = await dispatchTool(await contextFor([tool]));
    expect(error?.message).toHaveLength(4_097);
  });

  test("a deadline is told in the unit that people use", async () => {
    const slow = hostTool(() => new Promise(() => {}));
    const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 20 } }) };
    const { error } = await dispatchTool(await contextFor([slow], { policy }));
    expect(error).toEqual({
      code: "timeout",
      message: "Tool exceeded 20ms wall time limit",
      effect: "unknown",
    });
  });
});

describe("policies", () => {
  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no database");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no database"))],
    ["never answers", () => new Promise(() => {})],
    ["answers nothing", () => undefined],
    ["answers what is no decision", () => ({ decision: "maybe" })],
    ["grants a sandbox that does not exist", () => ({ decision: "allow", grant: { sandbox: "cloud" } })],
    [
      "grants a limit that does not exist",
      () => ({ decision: "allow", grant: { sandbox: "host", limits: { cpu: 1 } } }),
    ],
    [
      "grants a limit that is no number",
      () => ({ decision: "allow", grant: { sandbox: "host", limits: { wallTimeMs: "5s" } } }),
    ],
    [
      "grants a capability that does not exist",
      () => ({ decision: "allow", grant: { sandbox: "host", capabilities: { root: true } } }),
    ],
    ["forgets the grant", () => ({ decision: "allow" })],
  ])("fails closed when the policy %s", async (_case, check) => {
    let ran = false;
    const tool = hostTool(() => {
      ran = true;
    });
    const policy = { check: check as () => PolicyDecision };
    const { error } = await dispatchTool(await contextFor([tool], { policy, decisionTimeoutMs: 20 }));
    expect(error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(error?.message).toBe("Permission denied: the policy could not decide on tool 'tool'");
    expect(ran).toBe(false);
  });

  test("see the validated arguments, and cannot change them", async () => {
    const policy = {
      check: ({ input }: { input: unknown }) => {
        expect(() => Object.assign(input as object, { path: "/etc/passwd" })).toThrow(TypeError);
        return allow({ sandbox: "host" });
      },
    };
    const { output } = await dispatchTool(await contextFor([echo], { policy }), '{"path":"a"}');
    expect(output).toEqual({ path: "a" });
  });

  test("may answer later", async () => {
    const policy = { check: async () => allow({ sandbox: "host" }) };
    expect((await dispatchTool(await contextFor([echo], { policy }))).success).toBe(true);
  });

  test("that grant a sandbox for which the tool has nothing make the call fail; nothing falls back", async () => {
    const policy = { check: () => allow({ sandbox: "wasm" }) };
    const { error } = await dispatchTool(await contextFor([echo], { policy }));
    expect(error).toEqual({
      code: "sandbox_unavailable",
      message: "Tool 'tool' cannot run now: its 'wasm' sandbox is not available",
      effect: "none",
    });
  });
});

describe("where a tool may run", () => {
  const grant = { sandbox: "host", limits: { wallTimeMs: 1_000 } } as const;

  test("is found anew in other sandboxes, and when they were closed", async () => {
    const decision = allow(grant);
    const ctx = await contextFor([echo], { policy: { check: () => decision } });
    const other = { ...ctx, sandboxes: await openSandboxes() };
    for (const each of [ctx, other, ctx, other]) expect((await dispatchTool(each)).success).toBe(true);
    await (ctx.sandboxes as Sandboxes).close();
    expect((await dispatchTool(ctx)).error?.code).toBe("sandbox_unavailable");
    expect((await dispatchTool(other)).success).toBe(true);
  });

  test("is found anew for another grant, whose limits hold instead", async () => {
    const limits = [
      { wallTimeMs: 1_000 },
      {},
      { outputBytes: 100 },
      { memoryBytes: 1 },
      { outputBytes: 100 },
    ];
    const grants = limits.map((each) => allow({ ...grant, limits: each }));
    const results: unknown[] = [];
    const ctx = await contextFor([echo]);
    for (const decision of [...grants, ...grants]) {
      const { error, receipt } = await dispatchTool({ ...ctx, policy: { check: () => decision } });
      results.push(error?.code ?? receipt.enforced);
    }
    const expected = [limits[0], limits[1], limits[2], "limit_unenforceable", limits[4]];
    expect(results).toEqual([...expected, ...expected]);
  });
});

describe("hooks", () => {
  test("abort a call without a result, and without any event but the abort", async () => {
    const { events, seen } = recordEvents();
    const ctx = await contextFor([], { events, hooks: { onToolCall: () => "abort" } });
    expect(await engine.dispatch({ id: "1", name: "nothing", arguments: {} }, ctx)).toBeNull();
    expect(seen).toMatchObject([{ type: "tool.aborted", callId: "1", toolName: "nothing" }]);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no");
      },
    ],
    ["never answers", () => new Promise(() => {})],
    ["answers nonsense", () => ({ allow: true })],
    ["answers true", () => true],
  ])("deny the call when one %s", async (_case, hook) => {
    for (const name of ["onToolCall", "onToolStart"]) {
      let ran = false;
      const tool = hostTool(() => {
        ran = true;
      });
      const hooks = { [name]: hook };
      const { error } = await dispatchTool(await contextFor([tool], { hooks, decisionTimeoutMs: 20 }));
      expect(error).toMatchObject({ code: "permission_denied", effect: "none" });
      expect(ran).toBe(false);
    }
  });

  test("deny with a reason that only the operator sees", async () => {
    const { events, seen } = recordEvents();
    const hooks = { onToolStart: async () => ({ deny: "budget of team 7 is spent" }) };
    const { error } = await dispatchTool(await contextFor([echo], { hooks, events }));
    expect(error?.message).toBe("Permission denied: tool 'tool' was refused by a hook");
    expect(seen).toMatchObject([{ type: "tool.failed", detail: "budget of team 7 is spent" }]);
  });

  test("see the call first and the grant last, both frozen", async () => {
    const order: string[] = [];
    const hooks = {
      onToolCall: (call: object) => {
        order.push("call");
        expect(Object.isFrozen(call)).toBe(true);
      },
      onToolStart: ({ grant }: { grant: object }) => {
        order.push("start");
        expect(Object.isFrozen(grant)).toBe(true);
        return "continue" as const;
      },
    };
    const policy = {
      check: () => {
        order.push("policy");
        return allow({ sandbox: "host" });
      },
    };
    await dispatchTool(await contextFor([echo], { hooks, policy }));
    expect(order).toEqual(["call", "policy", "start"]);
  });
});

describe("calls", () => {
  test("cannot change what runs once they were read", async () => {
    const input = { path: "a" };
    const policy = {
      check: () => {
        input.path = "/etc/passwd";
        return allow({ sandbox: "host" });
      },
    };
    expect((await dispatchTool(await contextFor([echo], { policy }), input)).output).toEqual({ path: "a" });
  });

  test("with a member named __proto__ are refused, as text and as objects", async () => {
    const ctx = await contextFor([echo]);
    const text = '{"a":{"__proto__":{"admin":true}}}';
    for (const input of [text, JSON.parse(text)]) {
      const { error } = await dispatchTool(ctx, input);
      const position = typeof input === "string" ? " at position 6" : "";
      expect(error?.message).toBe(`Invalid arguments: a member named '__proto__' is not allowed${position}`);
    }
    expect({}).not.toHaveProperty("admin");
  });

  test("nested deeper than any honest call are refused", async () => {
    const ctx = await contextFor([echo]);
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    expect((await dispatchTool(ctx, deep)).error?.message).toBe(
      "Invalid arguments: nested deeper than 256 levels at position 1280",
    );
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a string", "call"],
    ["an array", []],
    ["an id that is a number", { id: 1, name: "tool", arguments: {} }],
    ["a name that is no string", { id: "1", name: {}, arguments: {} }],
    ["a function among the arguments", { id: "1", name: "tool", arguments: { f: () => 1 } }],
    ["an argument that refers to itself", { id: "1", name: "tool", arguments: cyclic() }],
    [
      "a getter that throws",
      {
        id: "1",
        name: "tool",
        get arguments() {
          throw new Error("x");
        },
      },
    ],
    ["a revoked proxy", revoked()],
    ["a number that JSON does not have", { id: "1", name: "tool", arguments: { n: Number.NaN } }],
  ])("that are %s get a validation error", async (_case, call) => {
    const execution = await engine.dispatch(call as never, await contextFor([echo]));
    expect(execution?.error).toMatchObject({ code: "validation_error", effect: "none" });
  });

  test("that are cancelled before they begin run nothing", async () => {
    let ran = false;
    const tool = hostTool(() => {
      ran = true;
    });
    const { error } = await dispatchTool(await contextFor([tool], { signal: AbortSignal.abort() }));
    expect(error).toEqual({ code: "cancelled", message: "Tool call was cancelled", effect: "none" });
    expect(ran).toBe(false);
  });

  test("that are cancelled while the policy thinks run nothing", async () => {
    const cancel = new AbortController();
    const policy = { check: () => new Promise<PolicyDecision>(() => {}) };
    const running = dispatchTool(await contextFor([echo], { policy, signal: cancel.signal }));
    cancel.abort();
    expect((await running).error).toMatchObject({ code: "cancelled", effect: "none" });
  });

  test("of one message run one after the other, with a result for each in order", async () => {
    const order: unknown[] = [];
    const tool = hostTool(async ({ n }) => {
      order.push(`start ${n}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`end ${n}`);
      return n ?? null;
    });
    const ctx = await contextFor([tool], {
      hooks: { onToolCall: ({ id }) => (id === "1" ? "abort" : undefined) },
    });
    const calls = [0, 1, 2].map((n) => ({ id: String(n), name: "tool", arguments: { n } }));
    const executions = await engine.dispatchAll(calls, ctx);
    expect(executions.map((execution) => execution?.output)).toEqual([0, undefined, 2]);
    expect(executions[1]).toBeNull();
    expect(order).toEqual(["start 0", "end 0", "start 2", "end 2"]);
  });
});

describe("outputs", () => {
  test("of nothing are null", async () => {
    const { success, output } = await dispatchTool(await contextFor([hostTool(() => undefined)]));
    expect({ success, output }).toEqual({ success: true, output: null });
  });

  test("with content keep blocks for the model and metadata for the embedder", async () => {
    const content = [
      { type: "text", text: "a chart" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
    ];
    const tool = hostTool(() => ({ content, metadata: { cost: 3 } }));
    const execution = await dispatchTool(await contextFor([tool]));
    expect(execution).toMatchObject({ success: true, output: { content }, metadata: { cost: 3 } });
    const [, message] = engine.buildToolResultMessages(
      [{ id: "call", name: "tool", arguments: {} }],
      [execution],
    );
    expect(message.results).toEqual([{ callId: "call", toolName: "tool", content, isError: false }]);
    expect(JSON.stringify(message)).not.toContain("cost");
  });

  test("with content can report a failure", async () => {
    const tool = hostTool(() => ({ content: [{ type: "text", text: "no such file" }], success: false }));
    const execution = await dispatchTool(await contextFor([tool]));
    expect(execution.error).toMatchObject({ code: "execution_error", message: "no such file" });
    expect(execution.output).toEqual({ content: [{ type: "text", text: "no such file" }] });
  });

  test("that merely resemble content are values like any other", async () => {
    for (const output of [{ content: "text" }, { content: [{ type: "video" }] }, { content: [], extra: 1 }]) {
      expect((await dispatchTool(await contextFor([hostTool(() => output)]))).output).toEqual(output);
    }
  });
});

function cyclic(): object {
  const object: Record<string, unknown> = {};
  object["self"] = object;
  return object;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
