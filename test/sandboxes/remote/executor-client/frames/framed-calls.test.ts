import { type ChildProcess, fork } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { ToolExecution } from "../../../../../src/engine/call/execution.ts";
import { defineTool } from "../../../../../src/engine/tool.ts";
import { openSandboxes, type Sandboxes } from "../../../../../src/sandboxes/open-sandboxes.ts";
import { CountingTool, HeldTool, startExecutor, until } from "../../../../executor/harness.ts";
import { callOn } from "../setting.ts";

const folder = mkdtempSync(join(tmpdir(), "framed-"));
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
async function startProcess(): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(new URL("../../../../fixtures/executor/main.ts", import.meta.url), [], { execArgv: [] });
  children.push(child);
  const [address] = (await once(child, "message")) as [string];
  return { child, url: `http://${address}` };
}

/** Opens sandboxes that use framed connections, and calls an executor until one is open. */
async function openFramed(url: string, warmUp: string, remote = {}): Promise<Sandboxes> {
  const sandboxes = await openSandboxes({ remote: { frames: true, ...remote } });
  onTestFinished(() => sandboxes.close());
  await callOn(url, warmUp, sandboxes, { id: "warm-up" });
  await sleep(200);
  return sandboxes;
}

/** The bytes that a call of an empty input sends over HTTP are more than these. */
const FRAMED_BYTES_UP = 380;

function isFramed({ receipt }: ToolExecution): boolean {
  return (receipt.used.bytesUp ?? 0) < FRAMED_BYTES_UP && (receipt.used.bytesUp ?? 0) > 0;
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

describe("calls over a framed connection", () => {
  test("have the same results as over HTTP, many at once", async () => {
    const { tool } = new CountingTool();
    const { address } = await startExecutor([tool]);
    const url = `http://${address}`;
    const sandboxes = await openFramed(url, "count");
    const executions = await Promise.all(
      Array.from({ length: 200 }, (_, n) => callOn(url, "count", sandboxes, { input: { n } })),
    );
    expect(executions.map(({ output }) => output)).toEqual(Array.from({ length: 200 }, (_, n) => ({ n })));
    expect(executions.every(isFramed)).toBe(true);
  });

  test("are signed once and sealed, with the key's principal at the executor", async () => {
    const tool = defineTool({
      name: "who",
      description: "Returns who calls.",
      inputSchema: { type: "object" },
      host: (_input, { principal }) => ({ ...principal }),
    });
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const { address } = await startExecutor([tool], { keys: new Map([["agent", publicKey]]) });
    const url = `http://${address}`;
    const sandboxes = await openFramed(url, "who", { signingKey: privateKey, keyId: "agent" });
    const execution = await callOn(url, "who", sandboxes);
    expect(execution.output).toEqual({ id: "agent", kind: "service" });
    expect(isFramed(execution)).toBe(true);
  });

  test("reach an executor on a unix socket, with a key and with a token", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const path = join(folder, "executor.sock");
    const token = "a-token-of-some-length";
    await startExecutor([new CountingTool().tool], {
      listen: `unix:${path}`,
      keys: new Map([["agent", publicKey]]),
      token,
    });
    for (const credential of [{ signingKey: privateKey, keyId: "agent" }, { token }]) {
      const sandboxes = await openFramed(`unix:${path}`, "count", credential);
      const execution = await callOn(`unix:${path}`, "count", sandboxes, { input: { n: 1 } });
      expect(execution.output).toEqual({ n: 1 });
      expect(isFramed(execution)).toBe(true);
    }
  });

  test("reach an executor behind a proxy with a base path", async () => {
    const token = "a-token-of-some-length";
    const counting = new CountingTool();
    // The proxy passes on everything but the base path of the first line.
    const proxy = createServer((near) => {
      const far = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
      for (const socket of [near, far]) socket.on("error", () => {});
      near.on("data", (chunk) => far.write(chunk.toString("latin1").replace(" /base/v1", " /v1"), "latin1"));
      near.on("close", () => far.destroy());
      far.pipe(near);
    });
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void proxy.close());
    const authority = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const executor = await startExecutor([counting.tool], { token, hosts: [authority] });
    const url = `http://${authority}/base`;
    const sandboxes = await openFramed(url, "count", { token });
    const execution = await callOn(url, "count", sandboxes, { input: { n: 1 } });
    expect(execution.output).toEqual({ n: 1 });
    expect(isFramed(execution)).toBe(true);
    expect(counting.calls).toBe(2);
  });

  test("go over HTTP if the executor has no framed connections, and each runs once", async () => {
    const counting = new CountingTool();
    const { address } = await startExecutor([counting.tool], { frames: false });
    const url = `http://${address}`;
    const sandboxes = await openFramed(url, "count");
    const execution = await callOn(url, "count", sandboxes, { input: { n: 1 } });
    expect(execution.output).toEqual({ n: 1 });
    expect(isFramed(execution)).toBe(false);
    expect(counting.calls).toBe(2);
  });

  test("go over HTTP if a proxy strips the upgrade, and each runs once", async () => {
    const counting = new CountingTool();
    const { address } = await startExecutor([counting.tool]);
    const proxy = createHttpServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { connection, upgrade, ...headers } = request.headers;
      const answer = await fetch(`http://${address}${request.url}`, {
        method: request.method ?? "GET",
        headers: { "content-type": String(headers["content-type"] ?? "") },
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(await answer.text());
    });
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void proxy.close());
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const sandboxes = await openFramed(url, "count");
    const execution = await callOn(url, "count", sandboxes, { input: { n: 1 } });
    expect(execution.output).toEqual({ n: 1 });
    expect(counting.calls).toBe(2);
  });

  test("are cancelled at the executor if their caller does not wait any more", async () => {
    const held = new HeldTool();
    const { address } = await startExecutor([held.tool, new CountingTool().tool]);
    const url = `http://${address}`;
    const sandboxes = await openFramed(url, "count");
    const { error } = await callOn(url, "hold", sandboxes, { limits: { wallTimeMs: 200 } });
    expect(error).toMatchObject({ code: "timeout" });
    await until(() => held.cancelled.length === 1);
  });

  test("are cancelled at the executor if the client disappears", async () => {
    const held = new HeldTool();
    const { address } = await startExecutor([held.tool, new CountingTool().tool]);
    const url = `http://${address}`;
    const sandboxes = await openFramed(url, "count");
    const calling = callOn(url, "hold", sandboxes);
    await until(() => held.started.length === 1);
    await sandboxes.close();
    await calling;
    await until(() => held.cancelled.length === 1);
  });

  test("have an unknown effect if the executor is killed, and later calls go elsewhere", async () => {
    const [killed, other] = await Promise.all([startProcess(), startProcess()]);
    const file = join(folder, "killed");
    const sandboxes = await openFramed(killed.url, "echo");
    const calling = callOn(killed.url, "append", sandboxes, { input: { file, line: "1", ms: 5_000 } });
    await until(() => linesOf(file).length === 1 || existsSync(file)).catch(() => {});
    killed.child.kill("SIGKILL");
    const { error } = await calling;
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    const next = await callOn([killed.url, other.url], "echo", sandboxes, { input: { n: 2 } });
    expect(next.output).toEqual({ n: 2 });
  });

  test("do not run after their caller was told timeout, although the executor was stopped", async () => {
    const { child, url } = await startProcess();
    const file = join(folder, "stopped");
    const sandboxes = await openFramed(url, "echo");
    const append = (line: string, wallTimeMs: number): Promise<ToolExecution> =>
      callOn(url, "append", sandboxes, { input: { file, line, ms: 0 }, limits: { wallTimeMs } });
    expect(isFramed(await callOn(url, "echo", sandboxes, {}))).toBe(true);
    child.kill("SIGSTOP");
    const executions = await Promise.all(Array.from({ length: 4 }, (_, n) => append(String(n), 300)));
    child.kill("SIGCONT");
    for (const { error } of executions) expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    for (;;) {
      if ((await append("after", 5_000)).success) break;
      await sleep(50);
    }
    expect(linesOf(file)).toEqual(["after"]);
  });

  test("are answered by an executor that shuts down", async () => {
    const { child, url } = await startProcess();
    const file = join(folder, "ending");
    const sandboxes = await openFramed(url, "echo");
    const running = Array.from({ length: 20 }, (_, n) =>
      callOn(url, "append", sandboxes, { input: { file, line: String(n), ms: 300 } }),
    );
    while (linesOf(file).length < 20) await sleep(10);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    const outputs = (await Promise.all(running)).map(({ output }) => output);
    expect(outputs).toEqual([...Array(20).keys()].map(String));
    expect(await exit).toEqual([0, null]);
  });
});
