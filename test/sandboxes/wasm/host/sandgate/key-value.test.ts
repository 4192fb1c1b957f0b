import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { SandboxOutcome } from "../../../../../src/sandboxes/contract/outcome.ts";
import type { SandboxTask } from "../../../../../src/sandboxes/contract/sandbox.ts";
import type { CurrentCall } from "../../../../../src/sandboxes/wasm/host/current-call.ts";
import { keyValue } from "../../../../../src/sandboxes/wasm/host/instance-host.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { type KeyValueStores, MemoryKeyValue } from "../../../../../src/tool/key-value-store.ts";
import { outsideComponent } from "../../../../fixtures/wasm/outside-component.ts";
import { wasmTask } from "../../../../fixtures/wasm/task.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-key-value-"));
const opened: WasmSandbox[] = [];
const component = await outsideComponent();
afterAll(async () => {
  await Promise.all(opened.map((sandbox) => sandbox.close()));
  rmSync(cacheDirectory, { recursive: true, force: true });
});

function open(keyValue?: KeyValueStores): WasmSandbox {
  const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 }, ...(keyValue && { keyValue }) });
  opened.push(sandbox);
  return sandbox;
}

const memory = open(new MemoryKeyValue({ maxKeys: 3 }));

function run(
  tool: string,
  input: readonly string[],
  overrides: Partial<SandboxTask> = {},
  sandbox: WasmSandbox = memory,
): Promise<SandboxOutcome> {
  const capabilities = { keyValue: ["notes"] };
  return sandbox.run(wasmTask(component, tool, [...input], { capabilities, ...overrides }));
}

describe("a component with a key-value store", () => {
  test("a component keeps values between calls", async () => {
    expect(await run("get", ["notes", "a"])).toMatchObject({ output: null });
    expect(await run("set", ["notes", "a", "ünï"])).toMatchObject({ output: true, effect: "unknown" });
    expect(await run("get", ["notes", "a"])).toMatchObject({ output: "ünï", effect: "none" });
    expect(await run("set", ["notes", "b", ""])).toMatchObject({ output: true });
    expect(await run("get", ["notes", "b"])).toMatchObject({ output: "" });
    expect(await run("list", ["notes"])).toMatchObject({ output: ["a", "b"] });
    expect(await run("list", ["notes", "a"])).toMatchObject({ output: ["b"] });
    expect(await run("delete", ["notes", "a"])).toMatchObject({ output: true });
    expect(await run("delete", ["notes", "a"])).toMatchObject({ output: true });
    expect(await run("list", ["notes"])).toMatchObject({ output: ["b"] });
  });

  test("a component cannot see the values of another session", async () => {
    await run("set", ["notes", "own", "1"]);
    expect(await run("get", ["notes", "own"], { sessionId: "other" })).toMatchObject({ output: null });
    expect(await run("get", ["notes", "own"])).toMatchObject({ output: "1" });
  });

  test.each([
    ["get", ["other", "a"]],
    ["set", ["other", "a", "1"]],
    ["delete", ["other", "a"]],
    ["list", ["other"]],
  ])("a component cannot use a store that was not granted (%s)", async (tool, input) => {
    const denied = { output: { error: 0, message: "the store 'other' was not granted" }, effect: "none" };
    expect(await run(tool, input)).toMatchObject(denied);
    expect(await run(tool, input, { capabilities: {} })).toMatchObject(denied);
    const capabilities = { keyValue: ["notes", "other"] };
    expect(await run(tool, input, { capabilities })).not.toMatchObject(denied);
  });

  test("keys, values and their number are limited", async () => {
    const session = { sessionId: "bounds" };
    const set = (key: string, bytes: number): Promise<SandboxOutcome> =>
      run("set_bytes", ["notes", key, String(bytes)], session);
    expect(await set("k".repeat(1_024), 1)).toMatchObject({ output: true });
    expect(await set("k".repeat(1_025), 1)).toMatchObject({ output: { error: 1 } });
    expect(await set("", 1)).toMatchObject({ output: { error: 1 } });
    expect(await set("large", 2 ** 20)).toMatchObject({ output: true });
    expect(await run("get", ["notes", "large"], session)).toMatchObject({ output: 2 ** 20 });
    expect(await set("third", 1)).toMatchObject({ output: true });
    expect(await set("fourth", 1)).toMatchObject({
      output: { error: 2, message: "the store is full" },
    });
    expect(await set("third", 2)).toMatchObject({ output: true });
  });

  test("the effect of a component that fails after a write is unknown", async () => {
    expect(await run("set_and_trap", ["notes", "a", "1"])).toMatchObject({
      status: "failed",
      effect: "unknown",
    });
    expect(await run("set_and_trap", ["other", "a", "1"])).toMatchObject({
      status: "failed",
      effect: "none",
    });
  });

  test("a component learns that a store is unavailable, but not the reason", async () => {
    const broken = open({
      open: () => {
        throw new Error("password of the database");
      },
    });
    expect(await run("get", ["notes", "a"], {}, broken)).toMatchObject({
      output: { error: 3, message: "the store is not available" },
    });
  });

  test("the deadline ends a component whose store does not respond", async () => {
    const { promise } = Promise.withResolvers<never>();
    const signals: AbortSignal[] = [];
    const store = {
      get: (_key: string, signal: AbortSignal) => {
        signals.push(signal);
        return promise;
      },
      set: () => {},
      delete: () => {},
      update: () => {},
      listKeys: () => [],
    };
    const silent = open({ open: () => store });
    const limits = { wallTimeMs: 300 };
    expect(await run("get", ["notes", "a"], { limits }, silent)).toMatchObject({ status: "timeout" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("a component writes nothing after its call has ended, even if the store opens later", async () => {
    const { promise: opened, resolve } = Promise.withResolvers<void>();
    const written: string[] = [];
    const store = {
      get: () => undefined,
      set: (key: string) => void written.push(key),
      delete: (key: string) => void written.push(key),
      update: () => {},
      listKeys: () => [],
    };
    const slow = open({ open: () => opened.then(() => store) });
    const limits = { wallTimeMs: 300 };
    for (const tool of ["set", "delete"]) {
      const outcome = await run(tool, ["notes", "a", "1"], { limits }, slow);
      expect(outcome).toMatchObject({ status: "timeout", effect: "none" });
    }
    resolve();
    await opened;
    await new Promise((settled) => setImmediate(settled));
    expect(written).toEqual([]);
  });

  test("a component that passes something other than bytes is ended", () => {
    const asked: unknown[] = [];
    const call = { ask: (request: unknown) => asked.push(request) } as unknown as CurrentCall;
    const { set } = keyValue(() => call) as { set: (...args: unknown[]) => void };
    expect(() => set("notes", "a", { length: 2 ** 26 })).toThrow(
      "it passed a value that is no list of bytes",
    );
    expect(() => set("notes", "a", "text")).toThrow("it passed a value that is no list of bytes");
    expect(asked).toEqual([]);
  });

  test("stores cannot be granted if the embedder does not provide any", () => {
    expect(open().capabilities.has("keyValue")).toBe(false);
    expect(memory.capabilities.has("keyValue")).toBe(true);
  });
});
