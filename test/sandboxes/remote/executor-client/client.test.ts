import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Executor, type ExecutorOptions } from "../../../../src/executor/executor.ts";
import { allow, ask, deny } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../../../engine/helpers.ts";
import { executorTools } from "../../../fixtures/executor/tools.ts";
import { callOn, type RemoteCall } from "./setting.ts";

const sandboxes = await openSandboxes();
const folder = mkdtempSync(join(tmpdir(), "executor-"));
const onHost = { check: () => allow({ sandbox: "host" }) };

async function start(options: Partial<ExecutorOptions> = {}): Promise<Executor> {
  return Executor.start({
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
  test("gives its output, and tells in the receipt what was contacted and enforced", async () => {
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

  test("runs anew for each dispatch, even if the model repeats an id", async () => {
    const options = { input: { file: join(folder, "anew"), line: "1" } };
    await call("append", options);
    const { output } = await call("append", { input: { ...options.input, line: "2" } });
    expect(output).toBe("2");
  });

  test.each([
    ["is short", "call_1", "call_1"],
    ["is longer than an executor takes", "x".repeat(2_000), "x".repeat(900)],
    ["has a pair of surrogates where it is cut", `${"x".repeat(899)}😀y`, "x".repeat(899)],
    ["has a pair of surrogates right before the cut", `${"x".repeat(898)}😀y`, `${"x".repeat(898)}😀`],
    ["is no valid text itself", "a\ud83d", "a\ufffd"],
  ])("runs whatever the model calls it: the id %s", async (_case, id, told) => {
    const { events, seen } = recordEvents();
    await using other = await start({ events });
    const execution = await callOn(`http://${other.address}`, "echo", sandboxes, { id, input: { n: 1 } });
    expect(execution).toMatchObject({ callId: id, success: true, output: { n: 1 } });
    expect(new Set(seen.map(({ callId }) => callId.split("~")[0]))).toEqual(new Set([told]));
  });

  test("keeps content and metadata apart, as a local tool does", async () => {
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

  test("tells what it left behind when it fails", async () => {
    const { error } = await call("fail", { input: { message: "no such record" } });
    expect(error).toEqual({ code: "execution_error", message: "no such record", effect: "unknown" });
  });

  test("that the executor does not have is not available, and the model learns of no other one", async () => {
    const { error, receipt } = await call("missing");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(error?.message).not.toMatch(/echo/);
    expect(receipt.enforced).toEqual({});
  });

  test("whose arguments the executor does not take is not run", async () => {
    const { error } = await call("strict", { input: { pat: 1 } });
    expect(error).toMatchObject({ code: "validation_error", effect: "none" });
    expect(error?.message).toMatch(/path/);
  });

  test("is refused when the executor cannot enforce a limit of the grant", async () => {
    const { error, receipt } = await call("echo", { limits: { memoryBytes: 1_000_000 } });
    expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
    expect(receipt.enforced).toEqual({});
  });

  test("gets no capability that the executor's own policy does not give", async () => {
    const { success } = await call("echo", { capabilities: { env: ["HOME"] } });
    expect(success).toBe(true);
  });

  test.each([
    ["denies", { check: () => deny("not here") }, "permission_denied"],
    ["has nobody to ask", { check: () => ask("really?") }, "permission_denied"],
  ])("is refused when the executor's policy %s", async (_case, policy, code) => {
    await using other = await start({ policy });
    const { error } = await callOn(`http://${other.address}`, "echo", sandboxes);
    expect(error).toMatchObject({ code, effect: "none" });
    expect(error?.message).not.toMatch(/not here|really/);
  });

  test("ends at its deadline, and the executor tells of it", async () => {
    const { error, receipt } = await call("sleep", { input: { ms: 10_000 }, limits: { wallTimeMs: 150 } });
    expect(error).toMatchObject({ code: "timeout", message: "Tool exceeded 150ms wall time limit" });
    expect(receipt.enforced.wallTimeMs).toBe(150);
  });

  test("may have the longest wall time that there is", async () => {
    const { success } = await call("echo", { limits: { wallTimeMs: 2_147_483_647 } });
    expect(success).toBe(true);
  });

  test("ends at its own deadline, whatever those of others are", async () => {
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

  test("is cancelled at the executor when it is cancelled here", async () => {
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
    expect((await running).error).toMatchObject({ code: "cancelled", effect: "unknown" });
    await ended.promise;
    expect(seen.at(-1)).toMatchObject({ type: "tool.failed", execution: { error: { code: "cancelled" } } });
  });

  test("tells chunks and log lines as they come, if somebody listens", async () => {
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

  test("has one result on a stream too when it fails", async () => {
    const { events } = recordEvents();
    const { error } = await call("fail", { input: { message: "no" }, context: { events } });
    expect(error).toMatchObject({ code: "execution_error", message: "no" });
  });

  test("runs over a unix socket", async () => {
    const listen = `unix:${join(folder, "socket")}`;
    await using _other = await start({ listen });
    const { output, receipt } = await callOn(listen, "echo", sandboxes, { input: { n: 1 } });
    expect(output).toEqual({ n: 1 });
    expect(receipt.used.contacted).toEqual([{ origin: listen, address: "" }]);
  });

  test("is refused before anything is sent when its sandboxes were closed", async () => {
    const closed = await openSandboxes();
    await closed.prepare({ remote: { executor: url } });
    await closed.close();
    expect((await callOn(url, "echo", closed)).error?.code).toBe("sandbox_unavailable");
  });
});

describe("an executor that asks who calls", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const token = "a-token-that-nobody-guesses";

  test("takes calls that are signed, each anew", async () => {
    await using other = await start({ keys: new Map([["me", publicKey]]) });
    const signing = await openSandboxes({ remote: { signingKey: privateKey, keyId: "me" } });
    for (const n of [1, 2]) {
      const { output } = await callOn(`http://${other.address}`, "echo", signing, { input: { n } });
      expect(output).toEqual({ n });
    }
    await signing.close();
  });

  test("takes calls with its token", async () => {
    await using other = await start({ token });
    const knowing = await openSandboxes({ remote: { token } });
    const { success } = await callOn(`http://${other.address}`, "echo", knowing);
    expect(success).toBe(true);
    await knowing.close();
  });

  test("refuses others, and says why", async () => {
    await using other = await start({ token });
    const { error } = await callOn(`http://${other.address}`, "echo", sandboxes);
    expect(error).toEqual({
      code: "sandbox_unavailable",
      message: "The tool's executor refused the call: the request needs a bearer token",
      effect: "none",
    });
  });

  test("is sent no token where others on the way could read it", async () => {
    const knowing = await openSandboxes({ remote: { token } });
    const remote = { executor: "http://executor.example:7420" };
    await expect(knowing.prepare({ remote })).rejects.toThrow(/must be https/);
    const { error } = await callOn(remote.executor, "echo", knowing);
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    await knowing.close();
  });
});
