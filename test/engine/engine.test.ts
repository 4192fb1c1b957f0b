import { describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { allow, ask, deny, type PolicyDecision } from "../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const echo = hostTool((input) => input);

describe("what the model reads on failure", () => {
  test("an unknown tool is reported with the available tools", async () => {
    const ctx = await contextFor([hostTool(() => 1, { name: "a" }), hostTool(() => 1, { name: "b" })]);
    const execution = await dispatchTool(ctx);
    expect(execution.error).toMatchObject({
      code: "not_found",
      message: "Tool 'tool' not found. Available: [a, b]",
      effect: "none",
    });
    expect(execution).toMatchObject({ success: false, output: null, sandbox: null });
  });

  test("at most fifty available tools are listed", async () => {
    const tools = Array.from({ length: 60 }, (_, index) => hostTool(() => 1, { name: `t${index}` }));
    const { error } = await dispatchTool(await contextFor(tools));
    expect(error?.message).toMatch(/t49, and 10 more\]$/);
  });

  test("an unknown name is truncated, without control characters", async () => {
    const ctx = await contextFor([echo]);
    const name = `\u001b[31m${"x".repeat(1e6)}`;
    const execution = await engine.dispatch({ id: "1", name, arguments: {} }, ctx);
    expect(execution?.error?.message).toHaveLength(101);
    expect(execution?.error?.message).not.toContain("\u001b");
  });

  test("a JSON syntax error is reported with its position", async () => {
    const ctx = await contextFor([echo]);
    expect((await dispatchTool(ctx, '{"a":x}')).error).toMatchObject({
      code: "validation_error",
      message: "Invalid JSON: unexpected token at position 5",
      effect: "none",
    });
    const cut = await dispatchTool(ctx, '{"a":');
    expect(cut.error?.message).toBe("Invalid JSON: unexpected end at position 5");
    expect(cut.arguments).toBe('{"a":');
  });

  test("every invalid argument is listed, at most ten", async () => {
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

  test("a denial by the policy does not reveal the rule", async () => {
    const { events, seen } = recordEvents();
    const policy = { check: () => deny("rule 7 at policy.yaml:12: secrets") };
    const { error } = await dispatchTool(await contextFor([echo], { policy, events }));
    expect(error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: tool 'tool' is disabled by policy",
      effect: "none",
    });
    expect(seen).toMatchObject([{ type: "tool.failed", detail: "rule 7 at policy.yaml:12: secrets" }]);
  });

  test("events name the rules of a decision, and operators read what came near", async () => {
    const { events, seen } = recordEvents();
    const named = { rules: ["r1", "r2"] };
    const near = [{ rule: "files", missed: "/path (glob)" }];
    for (const decision of [
      allow({ sandbox: "host" }, named),
      deny("no", { ...named, near }),
      ask("Sure?", named),
    ]) {
      await dispatchTool(await contextFor([echo], { policy: { check: () => decision }, events }));
    }
    expect(seen).toMatchObject([
      { type: "tool.started", rules: ["r1", "r2"] },
      { type: "tool.completed" },
      {
        type: "tool.failed",
        rules: ["r1", "r2"],
        detail: "no: 'files' would allow it but for /path (glob)",
      },
      { type: "tool.failed", rules: ["r1", "r2"], detail: "Sure?" },
    ]);
    expect(JSON.stringify(seen[2])).toMatch(/disabled by policy/);
  });

  test("a grant of a question is not used without an approver", async () => {
    const policy = { check: () => ask("Really?", { grant: { sandbox: "host" } }) };
    const { success, sandbox } = await dispatchTool(await contextFor([echo], { policy }));
    expect({ success, sandbox }).toEqual({ success: false, sandbox: null });
  });

  test("a call that requires confirmation is denied without an approver", async () => {
    const policy = { check: () => ask("Really?") };
    const { error } = await dispatchTool(await contextFor([echo], { policy }));
    expect(error?.code).toBe("permission_denied");
    expect(error?.message).toBe(
      "Permission denied: tool 'tool' requires confirmation, and no approver is available",
    );
  });

  test("a failing tool's message is passed on without its stack and this machine's folders", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => {
      throw new Error(`HTTP 500: cannot open ${process.cwd()}/secret/key.pem`);
    });
    const { error } = await dispatchTool(await contextFor([tool], { events }));
    expect(error).toMatchObject({
      code: "execution_error",
      message: "HTTP 500: cannot open secret/key.pem",
      effect: "unknown",
    });
    expect(seen.at(-1)).toMatchObject({
      type: "tool.failed",
      detail: expect.stringContaining(process.cwd()),
    });
  });

  test("a long message of a tool is truncated", async () => {
    const tool = hostTool(() => {
      throw new Error("x".repeat(1e6));
    });
    const { error } = await dispatchTool(await contextFor([tool]));
    expect(error?.message).toHaveLength(4_097);
  });

  test("a timeout names the wall time limit in a readable unit", async () => {
    const slow = hostTool(() => new Promise(() => {}));
    const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 20 } }) };
    const { error } = await dispatchTool(await contextFor([slow], { policy }));
    expect(error).toMatchObject({
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
    ["never settles", () => new Promise(() => {})],
    ["returns nothing", () => undefined],
    ["returns an unknown decision", () => ({ decision: "maybe" })],
    ["grants a sandbox that does not exist", () => ({ decision: "allow", grant: { sandbox: "cloud" } })],
    [
      "grants a limit that does not exist",
      () => ({ decision: "allow", grant: { sandbox: "host", limits: { cpu: 1 } } }),
    ],
    [
      "grants a limit that is not a number",
      () => ({ decision: "allow", grant: { sandbox: "host", limits: { wallTimeMs: "5s" } } }),
    ],
    [
      "grants a capability that does not exist",
      () => ({ decision: "allow", grant: { sandbox: "host", capabilities: { root: true } } }),
    ],
    ["allows without a grant", () => ({ decision: "allow" })],
  ])("a call is denied if the policy %s", async (_case, check) => {
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

  test("a policy gets the validated arguments and cannot change them", async () => {
    const policy = {
      check: ({ input }: { input: unknown }) => {
        expect(() => Object.assign(input as object, { path: "/etc/passwd" })).toThrow(TypeError);
        return allow({ sandbox: "host" });
      },
    };
    const { output } = await dispatchTool(await contextFor([echo], { policy }), '{"path":"a"}');
    expect(output).toEqual({ path: "a" });
  });

  test("a policy may return a promise", async () => {
    const policy = { check: async () => allow({ sandbox: "host" }) };
    expect((await dispatchTool(await contextFor([echo], { policy }))).success).toBe(true);
  });

  test("a call fails without fallback if the policy grants a sandbox that the tool does not support", async () => {
    const policy = { check: () => allow({ sandbox: "wasm" }) };
    const { error } = await dispatchTool(await contextFor([echo], { policy }));
    expect(error).toMatchObject({
      code: "sandbox_unavailable",
      message: "Tool 'tool' cannot run now: its 'wasm' sandbox is not available",
      effect: "none",
    });
  });
});

describe("placement", () => {
  const grant = { sandbox: "host", limits: { wallTimeMs: 1_000 } } as const;

  test("a tool's placement is not reused in other sandboxes, or after they were closed", async () => {
    const decision = allow(grant);
    const ctx = await contextFor([echo], { policy: { check: () => decision } });
    const other = { ...ctx, sandboxes: await openSandboxes() };
    for (const each of [ctx, other, ctx, other]) expect((await dispatchTool(each)).success).toBe(true);
    await (ctx.sandboxes as Sandboxes).close();
    expect((await dispatchTool(ctx)).error?.code).toBe("sandbox_unavailable");
    expect((await dispatchTool(other)).success).toBe(true);
  });

  test("a tool's placement is not reused for another grant, whose limits are enforced instead", async () => {
    const limits = [
      { wallTimeMs: 1_000 },
      {},
      { outputBytes: 100 },
      { memoryBytes: 1 },
      { outputBytes: 100 },
    ];
    const grants = limits.map((each) => allow({ ...grant, limits: each }));
    const results: unknown[] = [];
    const ctx = await contextFor([echo], { timeouts: "none" });
    for (const decision of [...grants, ...grants]) {
      const { error, receipt } = await dispatchTool({ ...ctx, policy: { check: () => decision } });
      results.push(error?.code ?? receipt.enforced);
    }
    const expected = [limits[0], limits[1], limits[2], "limit_unenforceable", limits[4]];
    expect(results).toEqual([...expected, ...expected]);
  });
});

describe("hooks", () => {
  test("a hook aborts a call without a result, and with `tool.aborted` as its only event", async () => {
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
    ["never settles", () => new Promise(() => {})],
    ["returns an unknown object", () => ({ allow: true })],
    ["returns true", () => true],
  ])("a call is denied if a hook %s", async (_case, hook) => {
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

  test("a hook denies a call with a reason that only the operator sees", async () => {
    const { events, seen } = recordEvents();
    const hooks = { onToolStart: async () => ({ deny: "budget of team 7 is spent" }) };
    const { error } = await dispatchTool(await contextFor([echo], { hooks, events }));
    expect(error?.message).toBe("Permission denied: tool 'tool' was refused by a hook");
    expect(seen).toMatchObject([{ type: "tool.failed", detail: "budget of team 7 is spent" }]);
  });

  test("an invalid answer of a hook or the policy is reported to the operator", async () => {
    const detailOf = async (more: object): Promise<unknown> => {
      const { events, seen } = recordEvents();
      await dispatchTool(await contextFor([echo], { ...more, events }));
      return seen.map((event) => "detail" in event && event.detail);
    };
    const invalid = (): never => 7 as never;
    expect(await detailOf({ hooks: { onToolCall: invalid } })).toEqual([
      "the hook returned an invalid verdict",
    ]);
    expect(await detailOf({ hooks: { onToolStart: invalid } })).toEqual([
      "the hook returned an invalid verdict",
    ]);
    expect(await detailOf({ policy: { check: invalid } })).toEqual([
      "the policy returned an invalid decision",
    ]);
  });

  test("hooks get the call first and the grant last, both frozen", async () => {
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
  test("a call cannot be changed after it arrived", async () => {
    const input = { path: "a" };
    const policy = {
      check: () => {
        input.path = "/etc/passwd";
        return allow({ sandbox: "host" });
      },
    };
    expect((await dispatchTool(await contextFor([echo], { policy }), input)).output).toEqual({ path: "a" });
  });

  test("a call with an argument named __proto__ is refused, as text and as an object", async () => {
    const ctx = await contextFor([echo]);
    const text = '{"a":{"__proto__":{"admin":true}}}';
    for (const input of [text, JSON.parse(text)]) {
      const { error } = await dispatchTool(ctx, input);
      const position = typeof input === "string" ? " at position 6" : "";
      expect(error?.message).toBe(`Invalid arguments: a member named '__proto__' is not allowed${position}`);
    }
    expect({}).not.toHaveProperty("admin");
  });

  test("a call with too deeply nested arguments is refused", async () => {
    const ctx = await contextFor([echo]);
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    expect((await dispatchTool(ctx, deep)).error?.message).toBe(
      "Invalid arguments: nested deeper than 256 levels at position 1280",
    );
  });

  test.each<[string, unknown]>([
    ["no value at all", undefined],
    ["null as its value", null],
    ["a string as its value", "call"],
    ["an array as its value", []],
    ["an id that is a number", { id: 1, name: "tool", arguments: {} }],
    ["a name that is not a string", { id: "1", name: {}, arguments: {} }],
    ["a function among the arguments", { id: "1", name: "tool", arguments: { f: () => 1 } }],
    ["a circular argument", { id: "1", name: "tool", arguments: cyclic() }],
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
    ["a revoked proxy as its value", revoked()],
    ["a number that JSON cannot represent", { id: "1", name: "tool", arguments: { n: Number.NaN } }],
  ])("a call with %s gets a validation error", async (_case, call) => {
    const execution = await engine.dispatch(call as never, await contextFor([echo]));
    expect(execution?.error).toMatchObject({ code: "validation_error", effect: "none" });
  });

  test("a call that is cancelled before it starts runs nothing", async () => {
    let ran = false;
    const tool = hostTool(() => {
      ran = true;
    });
    const { error } = await dispatchTool(await contextFor([tool], { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: "cancelled", message: "Tool call was cancelled", effect: "none" });
    expect(ran).toBe(false);
  });

  test("a call that is cancelled while the policy decides runs nothing", async () => {
    const cancel = new AbortController();
    const policy = { check: () => new Promise<PolicyDecision>(() => {}) };
    const running = dispatchTool(await contextFor([echo], { policy, signal: cancel.signal }));
    cancel.abort();
    expect((await running).error).toMatchObject({ code: "cancelled", effect: "none" });
  });
});

describe("outputs", () => {
  test("a tool that returns nothing has the output null", async () => {
    const { success, output } = await dispatchTool(await contextFor([hostTool(() => undefined)]));
    expect({ success, output }).toEqual({ success: true, output: null });
  });

  test("an output with content has blocks for the model and metadata for the embedder", async () => {
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

  test("an output with content can report a failure", async () => {
    const tool = hostTool(() => ({ content: [{ type: "text", text: "no such file" }], success: false }));
    const execution = await dispatchTool(await contextFor([tool]));
    expect(execution.error).toMatchObject({ code: "execution_error", message: "no such file" });
    expect(execution.output).toEqual({ content: [{ type: "text", text: "no such file" }] });
  });

  test("an output that only resembles content is a plain value", async () => {
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
