import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, recordEvents } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const recorded = recordEvents();

async function run(
  source: string,
  limits: ResourceLimits = {},
  capabilities: Capabilities = {},
): Promise<ToolExecution> {
  recorded.seen.length = 0;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs: { source } });
  const policy = { check: () => allow({ sandbox: "quickjs", limits, capabilities }) };
  return dispatchTool(await contextFor([tool], { sandboxes, policy, events: recorded.events }));
}

const logged = (): string[] =>
  recorded.seen.flatMap((event) => (event.type === "tool.log" ? [event.message] : []));

describe("a limit of QuickJS", () => {
  test("QuickJS limits are in the receipt, with what was used", async () => {
    const limits = {
      wallTimeMs: 1_000,
      memoryBytes: 2 ** 25,
      outputBytes: 100,
      stackBytes: 65_536,
      logLines: 5,
      nestedCalls: 1,
      fileBytes: 1_000,
      netBytes: 1_000,
      waitTimeMs: 60_000,
    };
    const { receipt } = await run(
      "export default () => { console.log('a'); console.log('b'); return 1; }",
      limits,
    );
    expect(receipt.enforced).toEqual(limits);
    expect(receipt.used).toMatchObject({ memoryBytes: 2 ** 24, outputBytes: 1, logLines: 2, nestedCalls: 0 });
  });

  test("QuickJS limits have defaults", async () => {
    expect((await run("export default () => 1")).receipt.enforced).toEqual({
      wallTimeMs: 30_000,
      memoryBytes: 2 ** 26,
      outputBytes: 2 ** 20,
      stackBytes: 262_144,
      logLines: 1_000,
      nestedCalls: 16,
      fileBytes: 2 ** 24,
      netBytes: 2 ** 24,
      waitTimeMs: 604_800_000,
    });
  });

  test("a limit on log lines drops later lines, and reports it", async () => {
    const source = "export default () => { for (let i = 0; i < 9; i++) console.log(i); return 'done'; }";
    const { output, receipt } = await run(source, { logLines: 2 });
    expect(output).toBe("done");
    expect(logged()).toEqual(["0", "1", "(log truncated: the call wrote too much)"]);
    expect(receipt.used.logLines).toBe(2);
  });

  test("a limit on the stack ends a recursion, sooner if it is lower", async () => {
    const source =
      "let n = 0; const f = () => { n++; f(); }; export default () => { try { f(); } catch { return n; } }";
    const low = await run(source, { stackBytes: 65_536 });
    const high = await run(source, { stackBytes: 262_144 });
    expect(Number(low.output)).toBeGreaterThan(10);
    expect(Number(high.output)).toBeGreaterThan(2 * Number(low.output));
    expect((await run("const f = () => f() + 1; export default () => f()")).error).toMatchObject({
      code: "execution_error",
      message: "stack overflow",
    });
  });

  test.each([
    1_024,
    2 ** 20,
  ])("a limit on the stack that cannot be enforced is refused: %d bytes", async (stackBytes) => {
    const { error } = await run("export default () => 1", { stackBytes });
    expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
  });

  test.each<[string, string]>([
    ["brackets in a source", "export default () => (0, eval)('['.repeat(5e6))"],
    ["functions in a source", "export default () => (0, eval)('(function(){'.repeat(3e5))"],
    ["a regular expression", "export default () => new RegExp('('.repeat(1e6))"],
    ["JSON", "export default () => JSON.parse('['.repeat(5e6))"],
    [
      "an object that is written",
      "export default () => { let o = {}; for (let i = 0; i < 3e5; i++) o = { o }; return o; }",
    ],
    ["getters", "const f = () => ({ get x() { return f(); } }).x; export default () => f()"],
    ["proxies", "const f = () => new Proxy({}, { get: () => f() }).x; export default () => f()"],
    ["sorting", "const f = () => [2, 1].sort(f); export default () => f()"],
  ])("a limit on the stack holds for depth in %s", async (_case, source) => {
    const { error } = await run(source, { wallTimeMs: 5_000 });
    expect(["execution_error", "limit_exceeded", "timeout"]).toContain(error?.code);
    expect((await run("export default () => 'fine'")).output).toBe("fine");
  });

  test("QuickJS limits also hold while the tool is loaded", async () => {
    const hoard = "const all = []; for (;;) all.push(new Uint8Array(1e6)); export default 1";
    expect((await run(hoard, { memoryBytes: 2 ** 25 })).error?.code).toBe("limit_exceeded");
    expect((await run("for (;;); export default 1", { wallTimeMs: 50 })).error?.code).toBe("timeout");
  });

  test("a tool that recovers from reaching its memory limit can continue", async () => {
    const source = `export default async (_input, { tools }) => {
      let met = false;
      try { const all = []; for (;;) all.push(new Uint8Array(2 ** 20)); } catch { met = true; }
      try { await tools.call("other", {}); } catch ({ code }) { return [met, code]; }
    }`;
    expect((await run(source, { memoryBytes: 2 ** 25 })).output).toEqual([true, "permission_denied"]);
  });

  test("a limit on memory is per call: the memory of one call is available again to the next", async () => {
    const source = "const kept = []; export default () => kept.push(new Uint8Array(8e6)) + kept.length";
    for (let call = 0; call < 10; call++) {
      expect((await run(source, { memoryBytes: 2 ** 25 })).output).toBe(2);
    }
  });

  test("a tool may need more memory for its modules than the engine starts with", async () => {
    const source = "const big = new Uint8Array(2e7).fill(7); export default () => big.at(-1)";
    for (let call = 0; call < 3; call++) expect((await run(source)).output).toBe(7);
  });
});

describe("random numbers and time in QuickJS", () => {
  test("random numbers and time differ from call to call, and time is the host's in UTC", async () => {
    const source = "export default () => [Math.random(), Date.now(), new Date().getTimezoneOffset()]";
    const [a, b] = [(await run(source)).output, (await run(source)).output] as [number[], number[]];
    expect(a[0]).not.toBe(b[0]);
    expect(Math.abs(Date.now() - (b[1] ?? 0))).toBeLessThan(60_000);
    expect(b[2]).toBe(0);
  });

  test("random numbers and time can be replayed", async () => {
    const source =
      "export default () => [Math.random(), Math.random(), Date.now(), new Date().toISOString()]";
    const replay = { randomSeed: "replay-1", frozenClock: Date.UTC(2_020, 1, 29) };
    const first = (await run(source, {}, replay)).output as readonly unknown[];
    expect((await run(source, {}, replay)).output).toEqual(first);
    expect(first[2]).toBe(replay.frozenClock);
    expect(first[3]).toBe("2020-02-29T00:00:00.000Z");
    const other = (await run(source, {}, { ...replay, randomSeed: "replay-2" })).output as readonly unknown[];
    expect(other[0]).not.toBe(first[0]);
  });

  test("granting clock and random changes nothing", async () => {
    const source = "export default () => typeof Math.random() + typeof Date.now()";
    expect((await run(source, {}, { clock: true, random: true })).output).toBe("numbernumber");
  });
});

describe("the context of a call", () => {
  test("the context of a call has a log, a signal that never fires, and tools", async () => {
    const source = `export default (input, context) => {
      context.log("plain", { n: 1 });
      context.log.warn("careful");
      context.signal.throwIfAborted();
      return [Object.keys(context), context.signal.aborted, Object.isFrozen(context), Object.isFrozen(context.tools)];
    }`;
    const { output } = await run(source);
    expect(output).toEqual([["tools", "log", "fs", "signal"], false, true, true]);
    expect(logged()).toEqual(['plain {"n":1}', "careful"]);
  });

  test("tools.call refuses invalid arguments", async () => {
    const source = `export default async (input, { tools }) => {
      const said = [];
      for (const args of [[], [1], ["x", () => {}], ["x", 1n]]) {
        await tools.call(...args).catch((error) => said.push(error.name));
      }
      return said;
    }`;
    expect((await run(source, {}, { tools: ["*"] })).output).toEqual(Array(4).fill("TypeError"));
  });

  test("tools.call refuses arguments over 1 MiB", async () => {
    const source = `export default (input, { tools }) =>
      tools.call("x", { text: "x".repeat(2 ** 20) }).catch((error) => error.code)`;
    expect((await run(source, {}, { tools: ["*"] })).output).toBe("validation_error");
  });
});
