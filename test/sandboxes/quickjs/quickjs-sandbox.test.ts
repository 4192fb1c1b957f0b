import { writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { ToolPreparationError } from "../../../src/sandboxes/contract/sandbox.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { QuickJsImplementation } from "../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, recordEvents } from "../../engine/helpers.ts";
import { GrantedTool } from "./granted-tool.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const recorded = recordEvents();

async function run(
  quickjs: QuickJsImplementation | string,
  limits: ResourceLimits = {},
  input: unknown = {},
): Promise<ToolExecution> {
  recorded.seen.length = 0;
  const implementation = typeof quickjs === "string" ? { source: quickjs } : quickjs;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs: implementation });
  const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 1_000, ...limits } }) };
  return dispatchTool(await contextFor([tool], { sandboxes, policy, events: recorded.events }), input);
}

describe("a QuickJS tool", () => {
  test("a QuickJS tool may be a file, name its export, and be asynchronous", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "sandgate-")), "tool.js");
    writeFileSync(file, "export async function double({ n }) { await null; return 2 * n; }");
    expect((await run({ file, export: "double" }, {}, { n: 21 })).output).toBe(42);
  });

  test("a QuickJS tool whose file is missing is unavailable until the file exists", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "sandgate-")), "late.js");
    const implementation = { file };
    expect((await run(implementation)).error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    writeFileSync(file, "export default () => 1");
    expect((await run(implementation)).output).toBe(1);
  });

  test("a QuickJS tool runs the jobs of its top-level code once, when it is loaded", async () => {
    const source = `
      let runs = 0;
      Promise.resolve().then(() => { runs++; });
      export default async () => { const before = runs; await null; return [before, runs]; };`;
    expect((await run(source)).output).toEqual([1, 1]);
    expect((await run(source)).output).toEqual([1, 1]);
  });

  test("a QuickJS tool whose top-level jobs never end reaches the deadline while it is loaded", async () => {
    const source = `
      const again = () => { Promise.resolve().then(again); };
      again();
      export default () => 1;`;
    expect((await run(source)).error).toMatchObject({ code: "timeout", effect: "none" });
  });

  test("a QuickJS tool has the language and web APIs, and nothing of the host", async () => {
    const names = ["process", "require", "WebAssembly", "SharedArrayBuffer", "std", "os", "send"];
    const source = `export default () => ${JSON.stringify(names)}.filter((name) => name in globalThis)`;
    expect((await run(source)).output).toEqual([]);
    expect((await run("export default () => import('fs')")).error?.code).toBe("execution_error");
    expect((await run("import fs from 'fs'; export default () => 1")).error?.code).toBe("execution_error");
  });

  test("a QuickJS tool logs to the event stream, within a budget", async () => {
    await run("export default () => { console.warn('careful', { n: 1 }, undefined); }");
    expect(recorded.seen[1]).toMatchObject({
      type: "tool.log",
      level: "warn",
      message: 'careful {"n":1} undefined',
    });
    await run("export default () => { for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100)); }", {
      wallTimeMs: 5_000,
    });
    const logged = recorded.seen.filter(({ type }) => type === "tool.log");
    expect(logged.length).toBeLessThan(1_000);
    expect(logged.at(-1)).toMatchObject({ message: "(log truncated: the call wrote too much)" });
  });

  test("a QuickJS tool leaves nothing behind for its next call", async () => {
    const source = `
      export default () => {
        const before = [globalThis.seen, Object.prototype.seen, Array.prototype.map.seen];
        globalThis.seen = Object.prototype.seen = Array.prototype.map.seen = 1;
        return before;
      }`;
    for (let call = 0; call < 3; call++) expect((await run(source)).output).toEqual([null, null, null]);
  });

  test.each<[string, string]>([
    [
      "replaces JSON and Promise",
      "JSON.stringify = () => 'x'; Promise.prototype.then = 1; export default async () => 'y'",
    ],
    [
      "gives prototypes a toJSON",
      "Array.prototype.toJSON = Object.prototype.toJSON = () => 'evil'; export default () => [1]",
    ],
    ["throws an unreadable value", "export default () => { throw new Proxy({}, { get() { throw 1 } }) }"],
    [
      "names its error after ours",
      "export default () => { const e = new Error('x'); e.name = 'InternalError'; throw e }",
    ],
    [
      "returns a value that refuses to be written",
      "export default () => ({ toJSON() { throw new Error('no') } })",
    ],
    ["exports a then member", "export const then = 1; export default () => 1"],
  ])("a QuickJS tool that %s harms only itself", async (_case, source) => {
    const execution = await run(source);
    expect(execution.error === undefined || execution.error.code === "execution_error").toBe(true);
    expect((await run("export default () => 'fine'")).output).toBe("fine");
  });

  test.each<[string, string]>([
    ["spins", "export default () => { for (;;); }"],
    ["spins while it is loaded", "for (;;); export default 1"],
    ["spins in promise jobs", "export default async () => { for (;;) await 0; }"],
    [
      "spawns promise jobs without end",
      "const f = () => Promise.resolve().then(() => { f(); f(); }); export default () => f()",
    ],
    ["catches what interrupts it", "export default () => { for (;;) try { for (;;); } catch {} }"],
    ["sorts without being interruptible", "export default () => [].sort.call({ length: 2 ** 31 })"],
    [
      "searches without looking at the clock",
      "export default () => 'a'.repeat(3e6).indexOf('a'.repeat(1e6) + 'b')",
    ],
    ["computes ever larger numbers", "export default () => { let n = 3n; for (;;) n *= n; }"],
  ])("a QuickJS tool that %s is ended at its deadline", async (_case, source) => {
    const { error } = await run(source, { wallTimeMs: 100 });
    expect(error).toMatchObject({ code: "timeout", effect: "none" });
  });

  test("a QuickJS tool that awaits a promise that can never settle fails at once", async () => {
    const { error } = await run("export default () => new Promise(() => {})");
    expect(error?.message).toBe("Tool awaits a promise that can never settle");
  });

  test.each<[string, string]>([
    ["objects", "export default () => { const a = []; for (;;) a.push({}); }"],
    ["buffers", "export default () => { const a = []; for (;;) a.push(new ArrayBuffer(1e6)); }"],
    ["strings", "export default () => { let s = 'x'; for (;;) s += s; }"],
    [
      "promise jobs",
      "export default async () => { await 0; const a = []; for (;;) a.push(new Uint8Array(1e5)); }",
    ],
  ])("a QuickJS tool that hoards %s reaches its memory limit", async (_case, source) => {
    const memoryBytes = 20 * 2 ** 20;
    const { error, receipt } = await run(source, { memoryBytes, wallTimeMs: 10_000 });
    // The engine throws another error for a string that exceeds its maximum length.
    expect(["limit_exceeded", "execution_error"]).toContain(error?.code);
    expect(receipt.used.memoryBytes).toBeLessThanOrEqual(memoryBytes);
  });

  test("a QuickJS tool does not run with a memory limit below what its engine needs", async () => {
    const { error } = await run("export default () => 1", { memoryBytes: 8 * 2 ** 20 });
    expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
  });
});

test.each<[string, string, RegExp]>([
  ["does not parse", "export default (", /unexpected|expect/i],
  ["throws while it is loaded", "throw new Error('not today')", /not today/],
  ["exports no function", "export default 1", /no exported function 'default'/],
])("preparing a module that %s reports why", async (_case, source, message) => {
  const preparing = sandboxes.prepare({ quickjs: { source } });
  await expect(preparing).rejects.toThrow(ToolPreparationError);
  await expect(preparing).rejects.toThrow(message);
});

test("a QuickJS tool that waited, and finds no free thread in time to go on, says that the sandbox is not available", async () => {
  await using small = await openSandboxes({ workers: { threads: 1, maxWaitMs: 2_000 } });
  const waits = new GrantedTool(small, {
    source: "export default () => new Promise((done) => setTimeout(done, 100));",
  });
  const loops = new GrantedTool(small, { source: "export default ({ runs }) => { while (runs); };" });
  for (const tool of [waits, loops]) expect((await tool.call()).success).toBe(true);
  const waiting = waits.call();
  const looping = loops.call({ input: { runs: true }, limits: { wallTimeMs: 6_000 } });
  expect((await waiting).error).toMatchObject({
    code: "sandbox_unavailable",
    message: "Tool could not resume after waiting: no thread was free in time. Try again later",
    effect: "none",
  });
  expect((await looping).error?.code).toBe("timeout");
});
