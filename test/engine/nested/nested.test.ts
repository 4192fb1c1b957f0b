import { afterAll, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { GrantOptions } from "../../../src/policy/grant/execution-grant.ts";
import { allow, deny, type PolicyDecision, type PolicyRequest } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ToolImplementations } from "../../../src/tool/implementations/implementations.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { startExecutor } from "../../executor/harness.ts";
import { recordEvents } from "../helpers.ts";

// One thread: a call that kept its thread while it waits for a nested call would wait for ever.
const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

interface Setting {
  readonly tools: Record<string, ToolImplementations | string>;
  /** By tool. Default: the first sandbox of the tool, and all tools may be called. */
  readonly grants?: Record<string, Partial<GrantOptions> | PolicyDecision>;
  readonly more?: Partial<DispatchContext>;
}

/** Dispatches a call of the tool `outer`. A tool given as a string is the body of a QuickJS function. */
async function run(
  { tools, grants = {}, more = {} }: Setting,
  input: JsonObject = {},
): Promise<ToolExecution> {
  const registry = new ToolRegistry();
  for (const [name, tool] of Object.entries(tools)) {
    const source = `export default async (input, { tools, log, signal }) => { ${String(tool)} }`;
    const implementations = typeof tool === "string" ? { quickjs: { source } } : tool;
    registry.register({ name, description: "", inputSchema: { type: "object" }, ...implementations });
  }
  const policy = {
    check: ({ tool }: PolicyRequest): PolicyDecision => {
      const grant = grants[tool.name] ?? {};
      if ("decision" in grant) return grant;
      return allow({
        sandbox: tool.sandboxes[0] ?? "host",
        capabilities: toolsFor(tool.sandboxes),
        ...grant,
      });
    },
  };
  const ctx: DispatchContext = { registry, policy, sandboxes, sessionId: "session", ...more };
  const call = { id: "call", name: "outer", arguments: input };
  const execution = await new ToolDispatchEngine().dispatch(call, ctx);
  if (execution === null) throw new Error("the outer call was aborted");
  return execution;
}

/** The host sandbox has no capabilities, since its tools can do all that this process can. */
function toolsFor(modes: readonly string[]): GrantOptions["capabilities"] & object {
  return modes.includes("quickjs") ? { tools: ["*"] } : {};
}

const add: ToolImplementations = {
  host: ({ a, b }: { a: number; b: number }) => a + b,
} as ToolImplementations;

test("the events of a nested call name the call whose tool made it", async () => {
  const { events, seen } = recordEvents();
  await run({ tools: { outer: 'return tools.call("add", { a: 1, b: 2 })', add }, more: { events } });
  const parents = seen.map(({ toolName, parent }) => [toolName, parent]);
  expect(parents).toContainEqual(["add", "call"]);
  expect(parents).toContainEqual(["outer", undefined]);
  expect(parents).not.toContainEqual(["add", undefined]);
});

test("a tool lists those that its grant gives, if it declares that it searches tools", async () => {
  const source = "export default (input, { tools }) => tools.names();";
  const outer = { quickjs: { source }, searchesTools: true } as ToolImplementations;
  const grants = { outer: { capabilities: { tools: ["a*"] } } };
  const tools = { add, other: add, again: add };
  expect((await run({ tools: { ...tools, outer }, grants })).output).toEqual(["add", "again"]);
  expect(
    (await run({ tools: { ...tools, outer }, grants: { outer: { capabilities: {} } } })).error,
  ).toMatchObject({
    message: "tools.names: the tool does not declare searchesTools, or may not call other tools",
  });
  const silent = { quickjs: { source } };
  expect((await run({ tools: { ...tools, outer: silent }, grants })).error?.code).toBe("execution_error");
});

describe("the limit on nested calls", () => {
  const again = `
    const settled = await Promise.allSettled([0, 1, 2, 3].map(() => tools.call("outer", {})));
    return settled.map(({ status, reason }) => status === "fulfilled" ? "called" : reason.code);`;

  test("counts all calls below a call, at every depth, and the receipt does, too", async () => {
    const execution = await run({
      tools: { outer: again },
      grants: { outer: { limits: { nestedCalls: 6 } } },
    });
    expect(execution.receipt.used.nestedCalls).toBe(6);
    expect(execution.receipt.enforced.nestedCalls).toBe(6);
  });

  test("holds by default for a tool that calls itself", async () => {
    let runs = 0;
    const count: ToolImplementations = { host: () => ++runs };
    const outer = `await tools.call("count", {});${again}`;
    const execution = await run({ tools: { outer, count } });
    expect(execution.receipt.used.nestedCalls).toBeLessThanOrEqual(16);
    expect(runs).toBeLessThanOrEqual(16);
  });

  test("refuses a call that the calls of a nested call have left nothing for", async () => {
    const execution = await run({
      tools: {
        outer: `
          await tools.call("inner", {});
          return tools.call("inner", {}).then(() => "called", ({ code }) => code);`,
        inner: `for (let i = 0; i < 5; i++) await tools.call("leaf", {}).catch(() => {}); return 1;`,
        leaf: { host: () => 1 },
      },
      grants: { outer: { limits: { nestedCalls: 4 } } },
    });
    expect(execution.output).toBe("limit_exceeded");
    expect(execution.receipt.used.nestedCalls).toBe(4);
  });
});

describe("a tool that calls other tools", () => {
  test("a tool that calls others gets their outputs and continues", async () => {
    const outer = `
      const seen = [await tools.call("add", { a: 1, b: 2 })];
      const both = await Promise.all([tools.call("add", { a: 3, b: 4 }), tools.call("add", { a: 5, b: 6 })]);
      return { seen, both, random: Math.random() !== Math.random() };`;
    const execution = await run({ tools: { outer, add } });
    expect(execution.output).toEqual({ seen: [3], both: [7, 11], random: true });
    expect(execution.receipt.used.nestedCalls).toBe(3);
  });

  test("a tool that calls others gets each output as soon as it is there", async () => {
    let release = (): void => {};
    const released = new Promise<string>((resolve) => {
      release = () => resolve("slow");
    });
    const tools = {
      outer: `
        const slow = tools.call("slow");
        const first = await Promise.race([slow, tools.call("fast")]);
        await tools.call("release");
        return [first, await slow];`,
      slow: { host: () => released },
      fast: { host: () => "fast" },
      release: { host: () => release() },
    };
    expect((await run({ tools })).output).toEqual(["fast", "slow"]);
  });

  test("tools can call tools that call tools, at most three deep", async () => {
    const outer = `
      if (input.depth === 0) return "bottom";
      return [input.depth, await tools.call("outer", { depth: input.depth - 1 })];`;
    expect((await run({ tools: { outer } }, { depth: 3 })).output).toEqual([3, [2, [1, "bottom"]]]);
    const { error } = await run({ tools: { outer } }, { depth: 4 });
    expect(error?.message).toMatch(
      /^tools\.call: this call may not call other tools .* nested three deep\)$/,
    );
  });

  test("a tool that calls others gets a failure as an error with its code", async () => {
    const outer = `
      try { await tools.call("broken"); } catch (error) { return [error.name, error.code, error.message]; }`;
    const broken = {
      host: () => {
        throw new ToolFailure("execution_error", "HTTP 500");
      },
    };
    expect((await run({ tools: { outer, broken } })).output).toEqual([
      "ToolCallError",
      "execution_error",
      "HTTP 500",
    ]);
  });

  test("calls that a tool does not await end with it", async () => {
    let aborted = false;
    const wait = {
      host: (_input: never, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("stopped"));
          });
        }),
    } as ToolImplementations;
    const outer = `tools.call("wait"); await tools.call("add", { a: 1, b: 1 }); return "done";`;
    expect((await run({ tools: { outer, wait, add } })).output).toBe("done");
    expect(aborted).toBe(true);
  });

  test("calls beyond the granted number are refused", async () => {
    const outer = `
      const results = [];
      for (let i = 0; i < 4; i++) {
        results.push(await tools.call("add", { a: i, b: 0 }).catch((error) => error.code));
      }
      return results;`;
    const grants = { outer: { limits: { nestedCalls: 2 } } };
    const { output, receipt } = await run({ tools: { outer, add }, grants });
    expect(output).toEqual([0, 1, "limit_exceeded", "limit_exceeded"]);
    expect(receipt.enforced.nestedCalls).toBe(2);
    expect(receipt.used.nestedCalls).toBe(2);
  });
});

describe("authority", () => {
  const outer = `
    try { return await tools.call(input.name, input.input); } catch (error) { return [error.code, error.message]; }`;

  test("a tool may not call other tools by default", async () => {
    const grants = { outer: { capabilities: {} } };
    const { output } = await run({ tools: { outer, add }, grants }, { name: "add", input: { a: 1, b: 2 } });
    expect(output).toEqual([
      "permission_denied",
      expect.stringContaining("capabilities.tools is not granted"),
    ]);
  });

  test("a tool that is not in the caller's grant is denied, whether or not it exists", async () => {
    const setting = {
      tools: { outer, add, secret: add, read_a: add },
      grants: { outer: { capabilities: { tools: ["read_*"] } } },
    };
    for (const name of ["secret", "no_such_tool"]) {
      const message = `Permission denied: the calling tool is not allowed to call tool '${name}'`;
      expect((await run(setting, { name })).output).toEqual(["permission_denied", message]);
    }
    // Nor does the hint depend on whether there is a tool of the name.
    expect((await run(setting, { name: "rread_a" })).output).toEqual([
      "not_found",
      "Tool 'rread_a' not found: did you mean 'read_a'? Available: [read_a]",
    ]);
    expect((await run(setting, { name: "read_b" })).output).toEqual([
      "not_found",
      "Tool 'read_b' not found: did you mean 'read_a'? Available: [read_a]",
    ]);
  });

  test("only so many tools are compared with the caller's grant to list those that it may call", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`read_${i}`, add]));
    const setting = {
      tools: { outer, ...many },
      grants: { outer: { capabilities: { tools: ["*9", "none"] } } },
    };
    const { output } = await run(setting, { name: "none" });
    expect(output).toEqual([
      "not_found",
      expect.stringMatching(/^Tool 'none' not found\. Available: \[read_9, read_19, .*read_499, and more\]$/),
    ]);
  });

  test("the policy decides on a nested call like on any other", async () => {
    const grants = { add: deny("not today") };
    const { output } = await run({ tools: { outer, add }, grants }, { name: "add", input: { a: 1, b: 2 } });
    expect(output).toEqual(["permission_denied", "Permission denied: tool 'add' is disabled by policy"]);
  });

  test("hooks get a nested call and can abort it", async () => {
    const seen: string[] = [];
    const hooks = {
      onToolCall: ({ id, name }: { id: string; name: string }) => {
        seen.push(`${id} ${name}`);
        return name === "add" ? ("abort" as const) : ("continue" as const);
      },
    };
    const setting = { tools: { outer, add }, more: { hooks } };
    const { output } = await run(setting, { name: "add", input: { a: 1, b: 2 } });
    expect(output).toEqual(["permission_denied", "Permission denied: a hook aborted the call"]);
    expect(seen).toEqual(["call outer", "call/1 add"]);
  });

  test("the arguments of a nested call are validated", async () => {
    const { output } = await run({ tools: { outer, add } }, { name: "add", input: [1] as never });
    expect(output).toEqual(["validation_error", "Invalid arguments of 'add': must be object"]);
  });

  test("a nested call may call only the tools in both its own and its caller's grant", async () => {
    const tools = {
      outer: `return tools.call("middle", input);`,
      middle: `try { return await tools.call(input.name, { a: 1, b: 2 }); } catch (error) { return error.code; }`,
      add,
      subtract: add,
    };
    const grants = {
      outer: { capabilities: { tools: ["middle", "add"] } },
      middle: { capabilities: { tools: ["add", "subtract"] } },
    };
    expect((await run({ tools, grants }, { name: "add" })).output).toBe(3);
    expect((await run({ tools, grants }, { name: "subtract" })).output).toBe("permission_denied");
  });

  test("a frozen clock stays frozen in a nested call", async () => {
    const tools = { outer: `return tools.call("clock");`, clock: "return Date.now();" };
    const grants = { outer: { capabilities: { tools: ["*"], frozenClock: 86_400_000 } } };
    expect((await run({ tools, grants })).output).toBe(86_400_000);
  });

  test("a nested call has no more time than its caller has left", async () => {
    const { events, seen } = recordEvents();
    const tools = {
      outer: `try { await tools.call("wait"); } catch (error) { return error.code; }`,
      wait: { host: () => new Promise(() => {}) },
    };
    const grants = { outer: { limits: { wallTimeMs: 2_000 } }, wait: { limits: { wallTimeMs: 60_000 } } };
    const { error } = await run({ tools, grants, more: { events } });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    const nested = seen.find((event) => event.type === "tool.failed" && event.callId === "call/1");
    const enforced = nested?.type === "tool.failed" ? nested.execution.receipt.enforced : {};
    expect(enforced.wallTimeMs).toBeLessThanOrEqual(2_000);
  });
});

describe("a nested call that runs on an executor", () => {
  const outer = `
    try { return await tools.call("far", { n: 1 }); } catch (error) { return [error.code, error.message]; }`;
  const object = { description: "", inputSchema: { type: "object" } };
  const MIB = 1_024 * 1_024;

  /** Returns the output of `outer`, and the limits that `far` ran with. */
  async function runFar(
    farTool: ToolImplementations,
    far: Partial<GrantOptions> = {},
    outerLimits: GrantOptions["limits"] = {},
  ): Promise<{ readonly output: unknown; readonly enforced: unknown }> {
    const executor = await startExecutor([{ ...object, name: "far", ...farTool }], {
      policy: {
        check: ({ tool }) =>
          allow({ sandbox: tool.sandboxes[0] ?? "host", capabilities: toolsFor(tool.sandboxes) }),
      },
    });
    const { events, seen } = recordEvents();
    const { output } = await run({
      tools: { outer, far: { remote: { executor: `http://${executor.address}` } } },
      grants: {
        outer: { sandbox: "quickjs", capabilities: { tools: ["*"] }, limits: outerLimits },
        far: { sandbox: "remote", ...far },
      } as Record<string, Partial<GrantOptions>>,
      more: { events },
    });
    const end = seen.find((event) => "execution" in event && event.callId === "call/1");
    return { output, enforced: end && "execution" in end ? end.execution.receipt.enforced : undefined };
  }

  const echo: ToolImplementations = { host: (input) => input };
  const quickjs: ToolImplementations = { quickjs: { source: "export default (input) => input" } };

  test("a call on an executor is not refused for limits that are defaults of its caller's sandbox", async () => {
    const { output, enforced } = await runFar(echo);
    expect(output).toEqual({ n: 1 });
    expect(Object.keys(enforced as object).sort()).toEqual(["outputBytes", "wallTimeMs"]);
  });

  test("a call on an executor gets no more time and output than its caller", async () => {
    const { enforced } = await runFar(echo, {}, { wallTimeMs: 20_000, outputBytes: 700 });
    expect(enforced).toMatchObject({ outputBytes: 700 });
    expect((enforced as { wallTimeMs: number }).wallTimeMs).toBeLessThanOrEqual(20_000);
  });

  test("a call on an executor gets the lower limit if its own grant has one, too", async () => {
    const far = { limits: { memoryBytes: 48 * MIB } };
    expect((await runFar(quickjs, far, { memoryBytes: 32 * MIB })).enforced).toMatchObject({
      memoryBytes: 32 * MIB,
    });
    expect((await runFar(echo, far)).output).toEqual([
      "limit_unenforceable",
      "Tool 'far' was not run: its memory limit cannot be enforced in the 'host' sandbox",
    ]);
  });

  test("a call on an executor may make no more calls than its caller has left", async () => {
    const far = { capabilities: { tools: ["*"] } };
    expect((await runFar(quickjs, far, { nestedCalls: 3 })).enforced).toMatchObject({ nestedCalls: 2 });
  });
});

describe("the effect of a failed call", () => {
  test("the effect of a failed call is none if no nested call had an effect", async () => {
    const { error } = await run({
      tools: { outer: `await tools.call("missing").catch(() => {}); throw 1;` },
    });
    expect(error?.effect).toBe("none");
  });

  test("the effect of a failed call is unknown after a nested call that succeeded", async () => {
    const { error } = await run({
      tools: { outer: `await tools.call("add", { a: 1, b: 2 }); throw new Error("late");`, add },
    });
    expect(error).toMatchObject({ message: "late", effect: "unknown" });
  });
});

test("cancelling a call ends the calls that it made", async () => {
  const cancel = new AbortController();
  const { events, seen } = recordEvents();
  const wait = {
    host: (_input: never, { signal }: { signal: AbortSignal }) => {
      setTimeout(() => cancel.abort(), 10);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
    },
  } as ToolImplementations;
  const tools = { outer: `return tools.call("wait");`, wait };
  const { error } = await run({ tools, more: { signal: cancel.signal, events } });
  expect(error?.code).toBe("cancelled");
  const ends = seen.flatMap((event) => (event.type === "tool.failed" ? [event.callId] : []));
  expect(ends).toEqual(["call/1", "call"]);
});

test("a flood of nested calls that are not awaited is bounded", async () => {
  const outer = `for (let i = 0; i < 10_000; i++) tools.call("add", { a: i, b: 0 }).catch(() => {}); return "done";`;
  const { output, receipt } = await run({ tools: { outer, add } });
  expect(output).toBe("done");
  expect(receipt.used.nestedCalls).toBe(0);
});
