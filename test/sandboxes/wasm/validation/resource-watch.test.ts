import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const watch = new URL("../../../../src/sandboxes/wasm/validation/resource-watch.ts", import.meta.url);

/** The exit code or the signal with which a process ends that is watched and does something. */
async function endOf(work: string, maxCpuMs: number): Promise<unknown> {
  const script = `
    import { Worker } from "node:worker_threads";
    const thread = new Worker(new URL(${JSON.stringify(watch.href)}), { workerData: ${maxCpuMs}, execArgv: [] });
    await new Promise((online) => thread.once("online", online));
    thread.unref();
    ${work}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: "ignore",
    // Nothing is left behind where the watch fails.
    timeout: 15_000,
    killSignal: "SIGQUIT",
  });
  const [code, signal] = await once(child, "exit");
  return code ?? signal;
}

test("a process that works without end is ended by its CPU time, though nothing else in it runs", async () => {
  expect(await endOf("for (;;);", 400)).toBe("SIGTERM");
});

test("a process that only waits goes on beyond that time", async () => {
  const wait = "await new Promise((resolve) => setTimeout(resolve, 2_000));";
  expect(await endOf(wait, 1_900)).toBe(0);
});

test("a process that takes too much memory is ended by another signal", async () => {
  const hoard = "const all = []; for (;;) all.push(new Uint8Array(16_777_216).fill(1));";
  expect(await endOf(hoard, 60_000)).toBe("SIGKILL");
});
