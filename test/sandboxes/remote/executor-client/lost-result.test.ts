import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { type Break, BreakingProxy } from "./breaking-proxy.ts";
import { callOn, type RemoteCall } from "./setting.ts";

const folder = mkdtempSync(join(tmpdir(), "lost-results-"));
const sandboxes = await openSandboxes();
afterAll(async () => {
  await sandboxes.close();
  rmSync(folder, { recursive: true });
});

/** An executor in a process of its own. */
interface ExecutorProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

/** @param host A further value of `host` that it accepts. */
async function startProcess(host: string): Promise<ExecutorProcess> {
  const main = new URL("../../../fixtures/executor/main.ts", import.meta.url);
  const child = fork(main, ["127.0.0.1:0", host], { execArgv: [] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const [address] = (await once(child, "message")) as [string];
  return { child, url: `http://${address}` };
}

/** Executors behind a proxy, which passes each connection to the next one of `targets`. */
interface ProxiedExecutors {
  readonly proxy: BreakingProxy;
  readonly url: string;
  readonly executors: readonly ExecutorProcess[];
  readonly targets: string[];
}

async function behindProxy(count = 1): Promise<ProxiedExecutors> {
  let turn = 0;
  const targets: string[] = [];
  const proxy = new BreakingProxy(() => targets[turn++ % targets.length] ?? "");
  const url = await proxy.start();
  onTestFinished(() => proxy.stop());
  const starting = Array.from({ length: count }, () => startProcess(new URL(url).host));
  const executors = await Promise.all(starting);
  targets.push(...executors.map((executor) => executor.url));
  return { proxy, url, executors, targets };
}

let files = 0;

/** Calls that append a line each to a file, and how often each of them ran. */
function appendTo(executor: string | readonly string[]): {
  append: (line: string, options?: RemoteCall & { readonly ms?: number }) => Promise<ToolExecution>;
  lines: () => readonly string[];
} {
  const file = join(folder, String(++files));
  return {
    append: (line, { ms = 0, ...options } = {}) =>
      callOn(executor, "append", sandboxes, {
        input: { file, line, ms },
        limits: { wallTimeMs: 10_000 },
        ...options,
      }),
    lines: () => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []),
  };
}

describe("a call whose result is lost", () => {
  test.each<Break>([
    "request",
    "response",
  ])("a write whose connection is reset by a proxy at the %s runs once, and has its result", async (how) => {
    const { proxy, url } = await behindProxy();
    const { append, lines } = appendTo(url);
    // The client learns which process answers.
    expect((await append("first")).success).toBe(true);
    proxy.breaks.push(how);
    const { success, output, receipt } = await append("lost");

    expect({ success, output }).toEqual({ success: true, output: "lost" });
    expect(receipt.used.attempts).toBe(2);
    expect(lines()).toEqual(["first", "lost"]);
  });

  test("the first write of all has its result, too, if its response is lost", async () => {
    const { proxy, url } = await behindProxy();
    const { append, lines } = appendTo(url);
    proxy.breaks.push("response", "response");
    const { success } = await append("lost");
    expect([success, lines(), proxy.seen]).toEqual([true, ["lost"], 3]);
  });

  test("the first write of all does not run if it did not arrive: another process may have got it", async () => {
    const { proxy, url } = await behindProxy();
    const { append, lines } = appendTo(url);
    proxy.breaks.push("request");
    const { error } = await append("lost");
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toBe("The connection to the tool's executor was lost before it responded");
    expect(lines()).toEqual([]);
  });

  test("a write that is cancelled because its connection broke does not run twice", async () => {
    const { proxy, url } = await behindProxy();
    const { append, lines } = appendTo(url);
    expect((await append("first")).success).toBe(true);
    proxy.breaks.push("underway");
    const { error } = await append("lost", { ms: 2_000 });
    expect(error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(lines()).toEqual(["first", "lost"]);
  });

  test("a write whose executor is killed has an unknown effect, and does not run on its successor", async () => {
    const { url, targets, executors } = await behindProxy(2);
    const successor = targets.pop() ?? "";
    const { append, lines } = appendTo(url);
    expect((await append("first")).success).toBe(true);
    const lost = append("lost", { ms: 5_000 });
    while (lines().length < 2) await sleep(5);
    targets[0] = successor;
    executors[0]?.child.kill("SIGKILL");
    const { error, receipt } = await lost;
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(receipt.used.attempts).toBe(2);
    // The successor gets the next calls.
    expect((await append("next")).success).toBe(true);
    expect(lines()).toEqual(["first", "lost", "next"]);
  });

  test("a write to several processes behind one address runs once, and never on the wrong one", async () => {
    const { proxy, url } = await behindProxy(2);
    const { append, lines } = appendTo(url);
    const results: ToolExecution[] = [];
    for (let n = 0; n < 12; n++) {
      if (n % 3 === 2) proxy.breaks.push("response");
      // Each call has a connection of its own.
      await using own = await openSandboxes();
      results.push(await appendOn(own, n));
    }
    expect(new Set(lines()).size).toBe(lines().length);
    results.forEach((result, n) => {
      if (result.success) expect(lines()).toContain(String(n));
      else expect(result.error?.effect).toBe("unknown");
    });

    function appendOn(own: typeof sandboxes, n: number): Promise<ToolExecution> {
      return append(String(n), { context: { sandboxes: own } });
    }
  });

  test("a call that changes nothing runs on another executor", async () => {
    const { proxy, url, executors, targets } = await behindProxy(2);
    targets.pop();
    const urls = [url, executors[1]?.url ?? ""];
    proxy.breaks.push("request", "response");
    for (let n = 0; n < 4; n++) {
      const { output } = await callOn(urls, "echo", sandboxes, { input: { n }, sideEffects: "read" });
      expect(output).toEqual({ n });
    }
    expect(proxy.breaks).toEqual([]);
  });

  test("a call that changes nothing, and ends its executors, is run three times at most", async () => {
    const { proxy, url } = await behindProxy();
    proxy.breaks.push("request", "request", "request", "request");
    const { error } = await callOn(url, "echo", sandboxes, { sideEffects: "none" });
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(proxy.seen).toBe(3);
  });

  test("a call that ends while it is asked for has an unknown effect", async () => {
    const { proxy, url, executors } = await behindProxy();
    const { append, lines } = appendTo(url);
    expect((await append("first")).success).toBe(true);
    proxy.breaks.push("underway");
    const lost = append("lost", { ms: 5_000, limits: { wallTimeMs: 1_000 } });
    while (lines().length < 2) await sleep(5);
    executors[0]?.child.kill("SIGSTOP");
    const { error, receipt } = await lost;
    executors[0]?.child.kill("SIGCONT");
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(receipt.mayStillRun).toBe(true);
    expect((await append("next")).success).toBe(true);
    expect(lines()).toEqual(["first", "lost", "next"]);
  });

  test("a call that is cancelled before it is asked for has an unknown effect", async () => {
    const { proxy, url } = await behindProxy();
    const { append } = appendTo(url);
    expect((await append("first")).success).toBe(true);
    proxy.breaks.push("request", "request", "request");
    const abort = new AbortController();
    const lost = append("lost", { context: { signal: abort.signal } });
    while (proxy.seen < 2) await sleep(1);
    await sleep(10);
    abort.abort();
    expect((await lost).error).toMatchObject({ code: "cancelled", effect: "unknown" });
  });

  test("each of many calls over breaking connections has one result, and no write runs twice", async () => {
    const { proxy, url } = await behindProxy();
    const { append, lines } = appendTo(url);
    expect((await append("first")).success).toBe(true);
    const kinds: readonly Break[] = ["nothing", "request", "response", "underway"];
    const results = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        await sleep(n * 10);
        proxy.breaks.push(kinds[(n * 7 + Math.floor(n / 5)) % kinds.length] ?? "nothing");
        return append(String(n), { ms: 20 });
      }),
    );
    const ran = lines();
    expect(new Set(ran).size).toBe(ran.length);
    results.forEach((result, n) => {
      if (result.success) expect(ran).toContain(String(n));
      else if (ran.includes(String(n))) expect(result.error?.effect).not.toBe("none");
    });
  });
});
