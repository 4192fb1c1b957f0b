import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { entryBeside } from "../../src/sandboxes/entry.ts";
import { WorkerPool } from "../../src/sandboxes/worker-pool.ts";

const entry = entryBeside(new URL("../../src/sandboxes/host/x.ts", import.meta.url).pathname, "worker-entry");
const module = new URL("../fixtures/worker/contract.ts", import.meta.url).href;
const options = { wallTimeMs: undefined, signal: undefined, observer: { output: () => {}, log: () => {} } };
const task = (name: string): object => ({
  module,
  export: name,
  input: {},
  callId: "",
  sessionId: "",
  toolName: "",
});

const threads = (): number => readdirSync("/proc/self/task").length;
const canCount = existsSync("/proc/self/task");

test.runIf(canCount)(
  `a pool that is closed leaves no thread, however early and busy it is${canCount ? "" : " (this system does not tell its threads)"}`,
  async () => {
    const close = async (delayMs: number): Promise<void> => {
      const pool = new WorkerPool(entry, { threads: 2 });
      const running = [
        pool.run(task("loop"), options),
        pool.run(task("loop"), options),
        pool.run(task("echo"), options),
      ];
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await pool.close();
      for (const { status } of await Promise.all(running))
        expect(["cancelled", "returned"]).toContain(status);
    };
    await close(100);
    const before = threads();
    for (const delayMs of [0, 1, 5, 20, 30, 40, 60, 100]) await close(delayMs);
    await expect.poll(threads).toBeLessThanOrEqual(before);
  },
);

test("a pool that is closed takes no task, and may be closed again", async () => {
  const pool = new WorkerPool(entry, { threads: 1 });
  await pool.close();
  await pool.close();
  expect(await pool.run(task("echo"), options)).toMatchObject({
    status: "unavailable",
    reason: "the pool is closed",
  });
});
