import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { callOn } from "./setting.ts";

const folder = mkdtempSync(join(tmpdir(), "executors-"));
const children: ChildProcess[] = [];

afterEach(async () => {
  const ending = children
    .splice(0)
    .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  await Promise.all(
    ending.map((child) => {
      child.kill("SIGKILL");
      return once(child, "exit");
    }),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** An executor in a separate process. */
async function startProcess(listen?: string): Promise<{ child: ChildProcess; url: string }> {
  const main = new URL("../../../fixtures/executor/main.ts", import.meta.url);
  const child = fork(main, listen === undefined ? [] : [listen], { execArgv: [] });
  children.push(child);
  const [address] = (await once(child, "message")) as [string];
  return { child, url: `http://${address}` };
}

describe("executors in separate processes", () => {
  test("if an executor is killed, each call still has one result, and none runs twice", async () => {
    const [killed, other] = await Promise.all([startProcess(), startProcess()]);
    await using sandboxes = await openSandboxes();
    const file = join(folder, "lines");
    const executor = [killed.url, other.url];
    await callOn(executor, "echo", sandboxes);
    const running: Promise<ToolExecution>[] = [];
    let dead = Number.POSITIVE_INFINITY;
    killed.child.once("exit", () => {
      dead = running.length;
    });
    for (let n = 0; n < dead + 20; n++) {
      const input = { file, line: String(n), ms: 30 };
      running.push(callOn(executor, "append", sandboxes, { input, limits: { wallTimeMs: 5_000 } }));
      if (n === 20) killed.child.kill("SIGKILL");
      await sleep(20);
    }
    const executions = await Promise.all(running);
    const lines = linesOf(file);
    expect(new Set(lines).size).toBe(lines.length);
    executions.forEach((execution, n) => {
      // Calls of the killed executor may have run; every other one ran on one of the executors.
      if (execution.success) expect(lines).toContain(String(n));
      else expect(execution.error).toMatchObject({ code: "execution_error", effect: "unknown" });
    });
    expect(executions.slice(dead).every(({ success }) => success)).toBe(true);
  });

  test("executors that shut down answer all running calls", async () => {
    const { child, url } = await startProcess();
    await using sandboxes = await openSandboxes();
    const file = join(folder, "ending");
    const running = Array.from({ length: 20 }, (_, n) =>
      callOn(url, "append", sandboxes, { input: { file, line: String(n), ms: 300 } }),
    );
    // The executor has all calls.
    while (linesOf(file).length < 20) await sleep(10);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    const outputs = (await Promise.all(running)).map(({ output }) => output);
    expect(outputs).toEqual([...Array(20).keys()].map(String));
    expect(await exit).toEqual([0, null]);
    const { error } = await callOn(url, "echo", sandboxes, { limits: { wallTimeMs: 200 } });
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });

  test("an executor that hangs is avoided after some calls, and used again when it recovers", async () => {
    const { child, url } = await startProcess();
    await using sandboxes = await openSandboxes();
    const echo = (wallTimeMs: number): Promise<ToolExecution> =>
      callOn(url, "echo", sandboxes, { input: { n: 1 }, limits: { wallTimeMs } });
    // The first call loads code, which takes seconds on a busy machine.
    expect((await echo(30_000)).success).toBe(true);
    child.kill("SIGSTOP");
    const hanging = await Promise.all(Array.from({ length: 5 }, () => echo(100)));
    for (const { error } of hanging) expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    const { error, receipt } = await echo(100);
    // Nothing is sent, whether the call fails at once or after a health check.
    expect(error?.effect).toBe("none");
    expect(receipt.used.attempts).toBe(0);
    child.kill("SIGCONT");
    const recovered = await untilSuccess(() => echo(1_000));
    expect(recovered.output).toEqual({ n: 1 });
  });

  test.each([
    "open",
    "new",
  ])("no call over %s connections runs after its caller was told timeout", async (kind) => {
    const { child, url } = await startProcess();
    await using sandboxes = await openSandboxes();
    const file = join(folder, `stopped ${kind}`);
    const append = (line: string, wallTimeMs: number): Promise<ToolExecution> =>
      callOn(url, "append", sandboxes, { input: { file, line, ms: 0 }, limits: { wallTimeMs } });
    if (kind === "open") await Promise.all(Array.from({ length: 10 }, () => append("before", 5_000)));
    child.kill("SIGSTOP");
    const executions = await Promise.all(Array.from({ length: 10 }, (_, n) => append(String(n), 300)));
    child.kill("SIGCONT");
    expect((await untilSuccess(() => append("after", 5_000))).success).toBe(true);
    for (const { error } of executions) expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(linesOf(file).filter((line) => line !== "before")).toEqual(["after"]);
  });
});

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** Retries until it succeeds, or the test times out. */
async function untilSuccess(attempt: () => Promise<ToolExecution>): Promise<ToolExecution> {
  for (;;) {
    const execution = await attempt();
    if (execution.success) return execution;
    await sleep(50);
  }
}
