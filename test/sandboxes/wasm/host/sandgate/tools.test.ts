import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../../src/engine/registry.ts";
import { defineTool } from "../../../../../src/engine/tool.ts";
import type { ResourceLimits } from "../../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../../src/policy/policy.ts";
import type { SandboxRouter } from "../../../../../src/sandboxes/contract/sandbox.ts";
import { HostSandbox } from "../../../../../src/sandboxes/host/host-sandbox.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { ToolFailure } from "../../../../../src/tool/tool-failure.ts";
import { outsideComponent } from "../../../../fixtures/wasm/outside-component.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-call-tool-"));
// One thread, because a component that waits for another must not prevent it from running.
const wasm = new WasmSandbox({ cacheDirectory, workers: { threads: 1, maxWaitMs: 3_000 } });
const host = new HostSandbox();
const component = await outsideComponent();
const sandboxes: SandboxRouter = { route: (mode) => (mode === "wasm" ? wasm : host) };
afterAll(async () => {
  await Promise.all([wasm.close(), host.close()]);
  rmSync(cacheDirectory, { recursive: true, force: true });
});

const seen: unknown[] = [];
let aborted = 0;
/** Called when the tool `wait` starts. */
let onWaiting: (() => void) | undefined;
const inputSchema = { type: "array", items: { type: "string" } };
const wasmTools = ["call", "call_twice", "call_and_trap", "count"].map((name) =>
  defineTool({ name, description: "", inputSchema, wasm: { component } }),
);
const hostTools = [
  defineTool({
    name: "note",
    description: "",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, additionalProperties: false },
    host: (input: unknown) => {
      seen.push(input);
      return { noted: true };
    },
  }),
  defineTool({
    name: "break",
    description: "",
    inputSchema: {},
    host: () => {
      throw new ToolFailure("execution_error", "it broke");
    },
  }),
  defineTool({
    name: "wait",
    description: "",
    inputSchema: {},
    host: (_input: unknown, { signal }) =>
      new Promise((_, reject) => {
        onWaiting?.();
        signal.addEventListener("abort", () => {
          aborted++;
          reject(new Error("aborted"));
        });
      }),
  }),
];
const registry = new ToolRegistry();
for (const tool of [...wasmTools, ...hostTools]) registry.register(tool);
const engine = new ToolDispatchEngine();

interface Setting {
  readonly tools?: readonly string[];
  readonly limits?: ResourceLimits;
  readonly signal?: AbortSignal;
}

async function dispatch(
  name: string,
  input: readonly string[],
  { tools = ["*"], limits = {}, signal }: Setting = {},
): Promise<ToolExecution> {
  const policy = {
    check: ({ tool }: { readonly tool: { readonly sandboxes: readonly string[] } }) => {
      const sandbox = tool.sandboxes.includes("wasm") ? "wasm" : "host";
      const capabilities = sandbox === "wasm" ? { tools } : {};
      return allow({ sandbox, capabilities, limits: sandbox === "wasm" ? limits : {} });
    },
  };
  const ctx = { registry, policy, sandboxes, sessionId: "session", ...(signal && { signal }) };
  const execution = await engine.dispatch({ id: "1", name, arguments: [...input] as never }, ctx);
  if (execution === null) throw new Error("the call has no result");
  return execution;
}

describe("a component that calls another tool", () => {
  test("a component gets the output of the tool that it calls, and the receipt counts the call", async () => {
    const execution = await dispatch("call_twice", ["note", '{"text":"ünï"}']);
    expect(execution.output).toEqual([{ ok: { noted: true } }, { ok: { noted: true } }]);
    expect(execution.receipt.used.nestedCalls).toBe(2);
    expect(seen.splice(0)).toEqual([{ text: "ünï" }, { text: "ünï" }]);
  });

  test.each([
    ["a tool that does not exist", "nothing", "{}", 0, "not found"],
    ["a tool with input that does not match its schema", "note", '{"text":1}', 1, "must be string"],
    ["a tool with input that is not JSON", "note", "{", 1, "Invalid JSON"],
    ["a tool that fails", "break", "{}", 7, "it broke"],
  ])("a component gets the error of a call to %s", async (_what, name, input, error, message) => {
    const execution = await dispatch("call", [name, input]);
    expect(execution.output).toEqual({ error, message: expect.stringContaining(message) });
    expect(seen).toEqual([]);
  });

  test("a component may only call the tools that its grant names", async () => {
    expect((await dispatch("call", ["note", "{}"], { tools: ["no*"] })).output).toHaveProperty("ok");
    expect(seen.splice(0)).toEqual([{}]);
    const denied = { error: 2, message: expect.any(String) };
    expect((await dispatch("call", ["note", "{}"], { tools: ["other"] })).output).toEqual(denied);
    expect((await dispatch("call", ["note", "{}"], { tools: [] })).output).toEqual({
      error: 2,
      message: "calling tools needs the capability 'tools', which was not granted",
    });
    expect(seen).toEqual([]);
  });

  test("a component may make at most as many calls as its limit", async () => {
    const execution = await dispatch("call_twice", ["note", "{}"], { limits: { nestedCalls: 1 } });
    expect(execution.output).toEqual([
      { ok: { noted: true } },
      { error: 9, message: "a call may make at most 1 calls to other tools" },
    ]);
    expect(seen.splice(0)).toHaveLength(1);
  });

  test("components can call components that call others, even with one thread", async () => {
    const innermost = JSON.stringify(["count", "[]"]);
    const middle = JSON.stringify(["call", innermost]);
    const execution = await dispatch("call", ["call", middle]);
    expect(execution.output).toEqual({ ok: { ok: { ok: 1 } } });
  });

  test("the nesting of calls is limited", async () => {
    let input = JSON.stringify([]);
    let name = "count";
    for (let depth = 0; depth < 6; depth++) {
      input = JSON.stringify([name, input]);
      name = "call";
    }
    const { output } = await dispatch("call", JSON.parse(input) as string[]);
    expect(JSON.stringify(output)).toContain('"error":2');
  });

  test("the deadline of a waiting component also ends its nested call", async () => {
    const execution = await dispatch("call", ["wait", "{}"], { limits: { wallTimeMs: 300 } });
    expect(execution.error).toMatchObject({ code: "timeout" });
    expect(aborted).toBe(1);
    expect((await dispatch("count", [])).output).toBe(1);
  });

  test("cancelling a waiting component also cancels its nested call", async () => {
    const aborting = new AbortController();
    const running = dispatch("call", ["wait", "{}"], { signal: aborting.signal });
    onWaiting = () => setImmediate(() => aborting.abort());
    expect((await running).error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(aborted).toBe(2);
  });

  test("a component that fails after a nested call reports an unknown effect", async () => {
    expect((await dispatch("call_and_trap", ["note", "{}"])).error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
    });
    expect(seen.splice(0)).toHaveLength(1);
    expect((await dispatch("call_and_trap", ["note", '{"text":1}'])).error).toMatchObject({ effect: "none" });
  });
});
