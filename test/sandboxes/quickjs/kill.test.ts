import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";

/** All running threads. */
const threads = new Set<Worker>();
const watch = (thread: Worker): void => {
  threads.add(thread);
  thread.once("exit", () => threads.delete(thread));
};

let sandboxes: Sandboxes;
beforeAll(async () => {
  process.on("worker", watch);
  sandboxes = await openSandboxes({ workers: { threads: 2 } });
});
afterAll(async () => {
  await sandboxes.close();
  process.off("worker", watch);
});

const registry = new ToolRegistry()
  .register({
    name: "spin",
    description: "",
    inputSchema: {},
    quickjs: {
      source:
        "export default ({ ms }) => { const end = Date.now() + ms; while (Date.now() < end); return ms; }",
    },
  })
  // It cannot be interrupted, so its thread must be ended.
  .register({
    name: "deaf",
    description: "",
    inputSchema: {},
    quickjs: { source: "export default () => [].reverse.call({ length: 2 ** 32 - 1 })" },
  });

function call(name: string, input: object, wallTimeMs = 10_000): Promise<ToolExecution | null> {
  const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs } }) };
  const ctx = { registry, policy, sandboxes, sessionId: "s" };
  return new ToolDispatchEngine().dispatch({ id: "1", name, arguments: input as never }, ctx);
}

test("a killed thread fails the call that ran in it, and no other", async () => {
  await Promise.all([call("spin", { ms: 1 }), call("spin", { ms: 1 })]);
  expect(threads.size).toBe(2);
  const [victim] = threads;
  const calls = Array.from({ length: 20 }, () => call("spin", { ms: 20 }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  await victim?.terminate();
  const executions = await Promise.all(calls);
  const failed = executions.filter((execution) => execution?.success !== true);
  expect(failed.length).toBeLessThanOrEqual(1);
  for (const execution of failed) {
    expect(execution?.error).toMatchObject({
      code: "execution_error",
      message: "Tool crashed the JavaScript engine",
      effect: "none",
    });
  }
  await expect.poll(() => threads.size, { timeout: 1_000 }).toBe(2);
  expect((await call("spin", { ms: 1 }))?.output).toBe(1);
});

test("a call that cannot be interrupted costs its thread, and no other call", async () => {
  const calls = [call("deaf", {}, 100), ...Array.from({ length: 12 }, () => call("spin", { ms: 10 }))];
  const [deaf, ...others] = await Promise.all(calls);
  expect(deaf?.error?.code).toBe("timeout");
  expect(others.map((execution) => execution?.output)).toEqual(Array(12).fill(10));
  await expect.poll(() => threads.size, { timeout: 1_000 }).toBe(2);
});
