import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { allow } from "../../src/policy/decision.ts";
import type { ResourceLimits } from "../../src/policy/grant/limits.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { ToolImplementations } from "../../src/tool/implementations.ts";
import { type Behaviour, TARGETS, type Target } from "./targets.ts";

const engine = new ToolDispatchEngine();

/** Options of one call of the suite. */
interface CallOptions {
  readonly input?: JsonValue;
  readonly limits?: ResourceLimits;
  readonly signal?: AbortSignal;
}

describe.each(Object.entries(TARGETS))("%s", (_name, open) => {
  let target: Target;
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    target = await open();
    sandboxes = await openSandboxes({ workers: { threads: 1 } });
  }, 120_000);

  afterAll(async () => {
    await sandboxes.close();
    await target.close?.();
  });

  async function dispatch(
    implementations: ToolImplementations,
    { input = { greeting: "héllo" }, limits = {}, signal }: CallOptions = {},
    inSandboxes = sandboxes,
  ): Promise<ToolExecution> {
    const tool = { name: "tool", description: "", inputSchema: { type: "object" }, ...implementations };
    const execution = await engine.dispatch(
      { id: "call-1", name: "tool", arguments: input },
      {
        registry: new ToolRegistry().register(tool),
        policy: {
          check: () => allow({ sandbox: target.sandbox, limits, capabilities: target.capabilities ?? {} }),
        },
        sandboxes: inSandboxes,
        sessionId: "session-1",
        ...(signal !== undefined && { signal }),
      },
    );
    if (execution === null) throw new Error("nobody aborts here");
    expect(execution).toMatchObject({ callId: "call-1", toolName: "tool", sandbox: target.sandbox });
    expect(JSON.parse(JSON.stringify(execution))).toEqual(execution);
    return execution;
  }

  const run = (behaviour: Behaviour, options?: CallOptions): Promise<ToolExecution> =>
    dispatch(target.tools[behaviour], options);

  async function expectStillWorking(): Promise<void> {
    const { success, output } = await run("echo");
    expect({ success, output }).toEqual({ success: true, output: { greeting: "héllo" } });
  }

  test("returns the output of the tool", async () => {
    const input = {
      text: 'zwölf \ud83d\ude00 \u0000 " \\',
      list: [1, -0.5, 1e21, null, true],
      deep: { a: { b: [] } },
    };
    const execution = await run("echo", { input });
    expect(execution.error).toBeUndefined();
    expect(execution.output).toEqual(input);
    expect(Object.isFrozen(execution) && Object.isFrozen(execution.output)).toBe(true);
  });

  test("reports enforced limits and used resources in the receipt", async () => {
    const limits = { wallTimeMs: 5_000, outputBytes: 2_000 };
    const { receipt } = await run("echo", { limits });
    expect(receipt.enforced).toMatchObject(limits);
    expect(receipt.used.outputBytes).toBe(Buffer.byteLength('{"greeting":"héllo"}'));
    expect(receipt.used.wallTimeMs).toBeGreaterThan(0);
    expect(receipt.used.wallTimeMs).toBeLessThan(5_000);
  });

  test("turns a tool's error into its message", async () => {
    const { success, output, error } = await run("fail");
    expect(success).toBe(false);
    expect(output).toBeNull();
    expect(error?.code).toBe("execution_error");
    expect(error?.message).toMatch(/no such record$/);
    await expectStillWorking();
  });

  test("has a message for a tool that crashes without one", async () => {
    const { error } = await run("breaks");
    expect(error?.code).toBe("execution_error");
    expect(error?.message).toMatch(/\w+ \w+/);
    expect(error?.message).not.toMatch(/\bat .*:\d+|node_modules|\.ts\b/);
    await expectStillWorking();
  });

  test("ends a tool at its deadline", async () => {
    const { error, receipt } = await run("loop", { limits: { wallTimeMs: 150 } });
    expect(error).toMatchObject({ code: "timeout", message: "Tool exceeded 150ms wall time limit" });
    expect(receipt.enforced.wallTimeMs).toBe(150);
    expect(receipt.used.wallTimeMs).toBeGreaterThanOrEqual(149);
    await expectStillWorking();
  });

  test("ends a tool that is cancelled", async () => {
    const cancel = new AbortController();
    const running = run("loop", { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    const { error } = await running;
    expect(error).toMatchObject({ code: "cancelled", message: "Tool call was cancelled" });
    await expectStillWorking();
  });

  test("refuses an output over its budget", async () => {
    const options = { input: { bytes: 5_000 }, limits: { outputBytes: 1_000 } };
    const { output, error } = await run("large", options);
    expect(output).toBeNull();
    expect(error).toMatchObject({ code: "limit_exceeded", message: "Tool exceeded 1000 B output limit" });
    await expectStillWorking();
  });

  test("accepts an output that just fits its budget", async () => {
    const { success } = await run("large", { input: { bytes: 998 }, limits: { outputBytes: 1_000 } });
    expect(success).toBe(true);
  });

  test("refuses an output that is not JSON-serialisable", async () => {
    const { output, error } = await run("unserialisable");
    expect(output).toBeNull();
    expect(error?.code).toBe("execution_error");
    expect(error?.message).toMatch(/JSON|BigInt/i);
    await expectStillWorking();
  });

  test("enforces the memory limit of a tool, or refuses to run it", async () => {
    const limits = { memoryBytes: 32 * 1_024 * 1_024 };
    if (target.bomb === undefined) {
      const { error, receipt } = await run("echo", { limits });
      expect(error).toMatchObject({ code: "limit_unenforceable", effect: "none" });
      expect(receipt).toEqual({ enforced: {}, used: { wallTimeMs: 0 } });
    } else {
      const { error, receipt } = await dispatch(target.bomb, { limits });
      expect(error).toMatchObject({ code: "limit_exceeded", message: "Tool exceeded 32 MiB memory limit" });
      expect(receipt.used.memoryBytes).toBeLessThanOrEqual(limits.memoryBytes);
    }
    await expectStillWorking();
  });

  test("refuses a capability that it cannot give, instead of omitting it", async () => {
    const tool = { name: "tool", description: "", inputSchema: {}, ...target.tools.echo };
    const sandbox = await sandboxes.route(target.sandbox);
    const execution = await engine.dispatch(
      { id: "1", name: "tool", arguments: {} },
      {
        registry: new ToolRegistry().register(tool),
        policy: { check: () => allow({ sandbox: target.sandbox, capabilities: { env: ["HOME"] } }) },
        sandboxes,
        sessionId: "s",
      },
    );
    if (sandbox?.capabilities.has("env")) expect(execution?.success).toBe(true);
    else expect(execution?.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });

  test("runs many calls concurrently, each with its own result", async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    const executions = await Promise.all(numbers.map((number) => run("echo", { input: { number } })));
    expect(executions.map(({ output }) => output)).toEqual(numbers.map((number) => ({ number })));
  });

  test("ends running calls when it is closed, and refuses later ones", async () => {
    const closing = await openSandboxes({ workers: { threads: 1 } });
    expect((await dispatch(target.tools.echo, {}, closing)).success).toBe(true);
    const running = dispatch(target.tools.loop, {}, closing);
    setTimeout(() => closing.close(), 50);
    expect((await running).error).toMatchObject({ code: "cancelled" });
    await closing.close();
    const late = await dispatch(target.tools.echo, {}, closing);
    expect(late.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });
});
