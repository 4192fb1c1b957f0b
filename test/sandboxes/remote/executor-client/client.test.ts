import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { type Executor, startExecutor } from "../../../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../../../src/executor/options.ts";
import { allow, ask, deny } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../../../engine/helpers.ts";
import { executorTools } from "../../../fixtures/executor/tools.ts";
import { callOn, execution, RawPeer, type RemoteCall, response } from "./setting.ts";

const sandboxes = await openSandboxes();
const folder = mkdtempSync(join(tmpdir(), "executor-"));
const onHost = { check: () => allow({ sandbox: "host" }) };

async function start(options: Partial<ExecutorOptions> = {}): Promise<Executor> {
  return startExecutor({
    listen: "127.0.0.1:0",
    registry: executorTools(),
    policy: onHost,
    sandboxes,
    ...options,
  });
}

const executor = await start();
const url = `http://${executor.address}`;
const call = (name: string, options?: RemoteCall): ReturnType<typeof callOn> =>
  callOn(url, name, sandboxes, options);

afterAll(async () => {
  await executor.close();
  await sandboxes.close();
  rmSync(folder, { recursive: true });
});

describe("a tool on an executor", () => {
  test("a tool on an executor returns its output, and the receipt has the contacts and limits", async () => {
    const { success, output, receipt } = await call("echo", {
      input: { greeting: "héllo" },
      limits: { wallTimeMs: 5_000 },
    });
    expect({ success, output }).toEqual({ success: true, output: { greeting: "héllo" } });
    expect(receipt.enforced).toEqual({ wallTimeMs: 5_000, outputBytes: 1_048_576 });
    expect(receipt.used).toMatchObject({
      contacted: [{ origin: url, address: "127.0.0.1" }],
      attempts: 1,
      outputBytes: Buffer.byteLength('{"greeting":"héllo"}'),
    });
    expect(receipt.used.bytesUp).toBeGreaterThan(200);
    expect(receipt.used.bytesDown).toBeGreaterThan(200);
    expect(Object.isFrozen(receipt.used.contacted)).toBe(true);
  });

  test("a tool on an executor runs again for each dispatch, even if the model repeats an id", async () => {
    const options = { input: { file: join(folder, "anew"), line: "1" } };
    await call("append", options);
    const { output } = await call("append", { input: { ...options.input, line: "2" } });
    expect(output).toBe("2");
  });

  test.each([
    ["is short", "call_1", "call_1"],
    ["is longer than an executor accepts", "x".repeat(2_000), "x".repeat(900)],
    ["has a surrogate pair at the cut", `${"x".repeat(899)}😀y`, "x".repeat(899)],
    ["has a surrogate pair right before the cut", `${"x".repeat(898)}😀y`, `${"x".repeat(898)}😀`],
    ["is not well-formed", "a\ud83d", "a\ufffd"],
  ])("a tool on an executor runs with any call id: the id %s", async (_case, id, told) => {
    const { events, seen } = recordEvents();
    await using other = await start({ events });
    const execution = await callOn(`http://${other.address}`, "echo", sandboxes, { id, input: { n: 1 } });
    expect(execution).toMatchObject({ callId: id, success: true, output: { n: 1 } });
    expect(new Set(seen.map(({ callId }) => callId.split("~")[0]))).toEqual(new Set([told]));
  });

  test("a tool on an executor returns content and metadata, as a local tool does", async () => {
    const content = [{ type: "text", text: "seen" }];
    expect(await call("content", { input: { success: true } })).toMatchObject({
      success: true,
      output: { content },
      metadata: { cost: 3 },
    });
    expect(await call("content", { input: { success: false } })).toMatchObject({
      success: false,
      output: { content },
      metadata: { cost: 3 },
      error: { code: "execution_error", message: "seen", effect: "committed" },
    });
  });

  test("a tool on an executor that fails reports its effect", async () => {
    const { error } = await call("fail", { input: { message: "no such record" } });
    expect(error).toMatchObject({ code: "execution_error", message: "no such record", effect: "unknown" });
  });

  test("a tool that the executor does not have is unavailable, and the model does not read which it has", async () => {
    const { error, receipt } = await call("missing");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(error?.message).not.toMatch(/echo/);
    expect(receipt.enforced).toEqual({});
  });

  test("a tool whose arguments the executor refuses does not run", async () => {
    const { error } = await call("strict", { input: { pat: 1 } });
    expect(error).toMatchObject({ code: "validation_error", effect: "none" });
    expect(error?.message).toMatch(/path/);
  });

  test("a call is refused if the executor cannot enforce a limit of the grant", async () => {
    const { error, receipt } = await call("echo", { limits: { memoryBytes: 1_000_000 } });
    expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
    expect(receipt.enforced).toEqual({});
  });

  test("a call gets no capability that the executor's own policy does not give", async () => {
    const { success } = await call("echo", { capabilities: { env: ["HOME"] } });
    expect(success).toBe(true);
  });

  test.each([
    ["denies", { check: () => deny("not here") }, "permission_denied"],
    ["asks, but there is no one to answer", { check: () => ask("really?") }, "permission_denied"],
  ])("a call is refused if the executor's policy %s", async (_case, policy, code) => {
    await using other = await start({ policy });
    const { error } = await callOn(`http://${other.address}`, "echo", sandboxes);
    expect(error).toMatchObject({ code, effect: "none" });
    expect(error?.message).not.toMatch(/not here|really/);
  });

  test("a tool on an executor ends at its deadline, and the executor reports it", async () => {
    const { error, receipt } = await call("sleep", { input: { ms: 10_000 }, limits: { wallTimeMs: 150 } });
    expect(error).toMatchObject({ code: "timeout", message: "Tool exceeded 150ms wall time limit" });
    expect(receipt.enforced.wallTimeMs).toBe(150);
  });

  test("a tool on an executor may have the longest possible wall time", async () => {
    const { success } = await call("echo", { limits: { wallTimeMs: 2_147_483_647 } });
    expect(success).toBe(true);
  });

  test("a tool on an executor ends at its own deadline, whatever those of others are", async () => {
    const deadlines = [1_000, 100, 300, 200];
    const ended: number[] = [];
    await Promise.all(
      deadlines.map(async (wallTimeMs) => {
        const { error } = await call("sleep", { input: { ms: 10_000 }, limits: { wallTimeMs } });
        expect(error?.code).toBe("timeout");
        ended.push(wallTimeMs);
      }),
    );
    expect(ended).toEqual([100, 200, 300, 1_000]);
  });

  test("a call that is cancelled here is cancelled at the executor", async () => {
    const ended = Promise.withResolvers<void>();
    const { events, seen } = recordEvents();
    events.on(({ type }) => type === "tool.failed" && ended.resolve());
    await using other = await start({ events });
    const cancel = new AbortController();
    const running = callOn(`http://${other.address}`, "sleep", sandboxes, {
      input: { ms: 10_000 },
      context: { signal: cancel.signal },
    });
    events.on(({ type }) => type === "tool.started" && cancel.abort());
    const { error, receipt } = await running;
    expect(error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(receipt.mayStillRun).toBe(true);
    await ended.promise;
    expect(seen.at(-1)).toMatchObject({ type: "tool.failed", execution: { error: { code: "cancelled" } } });
  });

  test("a tool on an executor streams output and log lines if there are listeners", async () => {
    const { events, seen } = recordEvents();
    const { output, receipt } = await call("stream", {
      input: { chunks: ["ä", "b"] },
      context: { events },
    });
    expect(output).toBe(2);
    const told = seen.map((event) =>
      event.type === "tool.output" ? event.chunk : event.type === "tool.log" ? event.message : event.type,
    );
    expect(told).toEqual(["tool.started", "ä", "b", "streamed", "tool.completed"]);
    expect(receipt.used.outputBytes).toBe(4);
  });

  test("a streaming tool that fails has one result", async () => {
    const { events } = recordEvents();
    const { error } = await call("fail", { input: { message: "no" }, context: { events } });
    expect(error).toMatchObject({ code: "execution_error", message: "no" });
  });

  test("a tool on an executor runs over a unix socket", async () => {
    const listen = `unix:${join(folder, "socket")}`;
    await using _other = await start({ listen });
    const { output, receipt } = await callOn(listen, "echo", sandboxes, { input: { n: 1 } });
    expect(output).toEqual({ n: 1 });
    expect(receipt.used.contacted).toEqual([{ origin: listen, address: "" }]);
  });

  test("a call after the sandboxes were closed is refused before anything is sent", async () => {
    const closed = await openSandboxes();
    await closed.prepare({ remote: { executor: url } });
    await closed.close();
    expect((await callOn(url, "echo", closed)).error?.code).toBe("sandbox_unavailable");
  });
});

describe("an executor that authenticates its clients", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const token = "a-token-that-nobody-guesses";

  test("an executor accepts signed calls, each with a new signature", async () => {
    await using other = await start({ keys: new Map([["me", publicKey]]) });
    const signing = await openSandboxes({ remote: { signingKey: privateKey, keyId: "me" } });
    for (const n of [1, 2]) {
      const { output } = await callOn(`http://${other.address}`, "echo", signing, { input: { n } });
      expect(output).toEqual({ n });
    }
    await signing.close();
  });

  test("a signature expires with the call's deadline, and after half a minute at the latest", async () => {
    const peer = new RawPeer();
    const url = await peer.start();
    onTestFinished(() => peer.stop());
    peer.answer((socket, request) => socket.write(response(200, execution(request))));
    const remote = { signingKey: privateKey, keyId: "me" };
    const signing = await openSandboxes({ remote, workers: { maxWaitMs: 1 } });
    for (const wallTimeMs of [1_500, 600_000]) await callOn(url, "echo", signing, { limits: { wallTimeMs } });
    const lifetimes = peer.seen.map(({ head }) => {
      const [, created, expires] = /created=(\d+);expires=(\d+)/.exec(head) ?? [];
      return Number(expires) - Number(created);
    });
    // The times are rounded: `created` down, `expires` up.
    expect(lifetimes[0]).toBeOneOf([2, 3]);
    expect(lifetimes[1]).toBeOneOf([30, 31]);
    await signing.close();
  });

  test("an executor accepts calls with its token", async () => {
    await using other = await start({ token });
    const knowing = await openSandboxes({ remote: { token } });
    const { success } = await callOn(`http://${other.address}`, "echo", knowing);
    expect(success).toBe(true);
    await knowing.close();
  });

  test("an executor refuses other calls, and reports why", async () => {
    await using other = await start({ token });
    const { error } = await callOn(`http://${other.address}`, "echo", sandboxes);
    expect(error).toMatchObject({
      code: "sandbox_unavailable",
      message: "The tool's executor refused the call: the request must have a bearer token",
      effect: "none",
    });
  });

  test("an executor is not sent a token without encryption", async () => {
    const knowing = await openSandboxes({ remote: { token } });
    const remote = { executor: "http://executor.example:7420" };
    await expect(knowing.prepare({ remote })).rejects.toThrow(/must be an https: URL/);
    const { error } = await callOn(remote.executor, "echo", knowing);
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    await knowing.close();
  });
});
