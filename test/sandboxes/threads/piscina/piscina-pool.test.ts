import { Piscina } from "piscina";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EventStream } from "../../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import type { JsonValue } from "../../../../src/json/value.ts";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { piscinaPool } from "../../../../src/sandboxes/threads/piscina/piscina-pool.ts";

const MODULE = new URL("../../../fixtures/worker/contract.ts", import.meta.url);
const OWN = new URL("../../../fixtures/worker/own-task.ts", import.meta.url).pathname;

let piscina: Piscina;
let sandboxes: Sandboxes;
beforeAll(async () => {
  piscina = new Piscina({ minThreads: 1, maxThreads: 2, filename: OWN });
  sandboxes = await openSandboxes({ workers: { pool: piscinaPool(piscina) } });
});
afterAll(async () => {
  await sandboxes.close();
  await piscina.destroy();
});

/** Calls a function of the fixture. */
async function call(
  name: string,
  input: JsonValue = {},
  options: { readonly limits?: ResourceLimits; readonly in?: Sandboxes; readonly events?: EventStream } = {},
): Promise<ToolExecution | null> {
  const { limits = {}, in: where = sandboxes, events } = options;
  const tool = { name: "tool", description: "", inputSchema: {}, host: { module: MODULE, export: name } };
  return new ToolDispatchEngine().dispatch(
    { id: "1", name: "tool", arguments: input },
    {
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "host", limits }) },
      sandboxes: where,
      sessionId: "s",
      ...(events && { events }),
    },
  );
}

test("a deadline ends the thread of one call, and neither the other call nor the embedder's own tasks", async () => {
  const own = piscina.run("mine");
  const [late, good] = await Promise.all([
    call("loop", {}, { limits: { wallTimeMs: 100 } }),
    call("echo", { a: 1 }),
  ]);
  expect(late).toMatchObject({ error: { code: "timeout" }, receipt: { ended: "confirmed" } });
  expect(late?.receipt).not.toHaveProperty("mayStillRun");
  expect(good).toMatchObject({ success: true, output: { a: 1 } });
  expect(await own).toBe("own mine");
  expect(await piscina.run("again")).toBe("own again");
  expect(sandboxes.abandonedThreads).toBe(0);
});

test("output and log lines arrive before the result", async () => {
  const lines: string[] = [];
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.output") lines.push(event.chunk);
    if (event.type === "tool.log") lines.push(`${event.level}: ${event.message}`);
    if (event.type === "tool.completed") lines.push("completed");
  });
  expect(await call("stream", { chunks: ["a", "b"] }, { events })).toMatchObject({ output: 2 });
  expect(lines).toEqual(["a", "b", "warn: done", "completed"]);
});

test("a tool that ends its thread fails, and the pool goes on", async () => {
  expect(await call("exit")).toMatchObject({
    error: { code: "execution_error", message: "Tool ended the thread that it ran in", effect: "unknown" },
  });
  expect(await call("echo", { a: 2 })).toMatchObject({ success: true });
});

test("fails closed when the grant has a limit that the embedder's threads cannot hold", async () => {
  expect(await call("echo", {}, { limits: { memoryBytes: 2 ** 24 } })).toMatchObject({
    error: { code: "limit_unenforceable", effect: "none" },
  });
});

test("closing the sandboxes ends their calls, and leaves the pool open", async () => {
  const other = await openSandboxes({ workers: { pool: piscinaPool(piscina) } });
  const running = call("loop", {}, { in: other });
  await new Promise<void>((resolve) => setImmediate(resolve));
  await other.close();
  expect(await running).toMatchObject({ success: false });
  expect(await piscina.run("still open")).toBe("own still open");
});

test("reports that no call runs when the pool is full, is busy for too long, or is closed", async () => {
  const busy = new Piscina({ minThreads: 1, maxThreads: 1, maxQueue: 1, filename: OWN });
  const own = busy.run("forever").catch(() => "ended");
  const small = await openSandboxes({ workers: { pool: piscinaPool(busy), maxWaitMs: 300 } });
  const answers = await Promise.all([call("echo", {}, { in: small }), call("echo", {}, { in: small })]);
  await busy.destroy();
  expect(await own).toBe("ended");
  await small.close();
  for (const answer of [...answers, await call("echo", {}, { in: small })]) {
    expect(answer).toMatchObject({ error: { code: "sandbox_unavailable", effect: "none" } });
  }
});

test("refuses a pool in which ending a thread could end another task", () => {
  expect(() => piscinaPool(new Piscina({ concurrentTasksPerWorker: 2, minThreads: 0 }))).toThrow(
    "'concurrentTasksPerWorker: 1'",
  );
  const options = { loadBalancer: (_task: unknown, [worker]: unknown[]) => worker ?? null, minThreads: 0 };
  expect(() => piscinaPool(new Piscina(options as object))).toThrow("'loadBalancer'");
});
