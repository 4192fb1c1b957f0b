import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatDuration } from "../../src/base/units.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { CanonicalJson } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import type { ResourceLimits } from "../../src/policy/grant/limits.ts";
import { allow } from "../../src/policy/policy.ts";
import { BoundGrant, type BoundTo } from "../../src/sandboxes/contract/bound-grant.ts";
import type { Sandbox, SandboxTask } from "../../src/sandboxes/contract/sandbox.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { ToolImplementations } from "../../src/tool/implementations/implementations.ts";
import { isDeeplyFrozen } from "../json/deeply-frozen.ts";
import { unavailable as noMachines } from "../sandboxes/microvm/availability.ts";
import { landlockUnavailable, unavailable } from "../sandboxes/process/availability.ts";
import { targetsOfTier } from "../tier.ts";
import { type Behaviour, TARGETS, type Target } from "./targets.ts";

const engine = new ToolDispatchEngine();

/** Options of one call of the suite. */
interface CallOptions {
  readonly input?: JsonValue;
  readonly limits?: ResourceLimits;
  readonly signal?: AbortSignal;
}

const SKIPPED: Readonly<Record<string, string | undefined>> = {
  "a program": unavailable,
  "a program, on Landlock": landlockUnavailable,
  "a virtual machine": noMachines,
};
const named = targetsOfTier(Object.entries(TARGETS), ([name]) => name === "a virtual machine");
const targets = named.filter(([name]) => SKIPPED[name] === undefined);

test.skip.each(
  named.flatMap(([name]) => (SKIPPED[name] === undefined ? [] : [[name, SKIPPED[name]] as const])),
)("%s is not tested here: %s", () => {});

/** Targets whose calls wait for a free thread, of which there are two at most. */
const IN_THREADS: ReadonlySet<string> = new Set([
  "a host module",
  "a host module, in the embedder's Piscina",
  "QuickJS",
  "Wasm",
]);

describe.each(targets)("%s", (name, open) => {
  let target: Target;
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    target = await open();
    sandboxes = await openSandboxes({ workers: { threads: 1 }, ...target.options });
  }, 300_000);

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
    const { grant, ...receipt } = execution.receipt;
    const written = JSON.parse(JSON.stringify(execution));
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(written).toEqual({ ...execution, receipt: { ...receipt, ...(grant && { grant: { digest } }) } });
    if (grant !== undefined) expect(written.receipt.grant.digest).toBe(grant.digest);
    expect(structuredClone(execution)).toEqual(written);
    expect(isDeeplyFrozen(execution)).toBe(true);
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
    const { wallTimeMs = 150 } = target;
    const { error, receipt } = await run("loop", { limits: { wallTimeMs } });
    const message = `Tool exceeded ${formatDuration(wallTimeMs)} wall time limit`;
    expect(error).toMatchObject({ code: "timeout", message });
    expect(receipt.enforced.wallTimeMs).toBe(wallTimeMs);
    expect(receipt.used.wallTimeMs).toBeGreaterThanOrEqual(wallTimeMs - 1);
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

  test.runIf(IN_THREADS.has(name))("says how long a call waited for a thread", async () => {
    await using fresh = await openSandboxes({ workers: { threads: 1 }, ...target.options });
    // Loading a tool would take a thread as well.
    await fresh.prepare(target.tools.loop);
    await dispatch(target.tools.echo, {}, fresh);
    const loop = (): Promise<ToolExecution> =>
      dispatch(target.tools.loop, { limits: { wallTimeMs: 500 } }, fresh);
    const busy = [loop(), loop()];
    // They occupy the threads by then.
    await delay(100);
    const { success, receipt } = await dispatch(target.tools.echo, {}, fresh);
    expect(success).toBe(true);
    const { waitedMs = 0, wallTimeMs } = receipt.used;
    expect(waitedMs).toBeGreaterThan(wallTimeMs);
    for (const { error } of await Promise.all(busy)) expect(error?.code).toBe("timeout");
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
    const closing = await openSandboxes({ workers: { threads: 1 }, ...target.options });
    expect((await dispatch(target.tools.echo, {}, closing)).success).toBe(true);
    const running = dispatch(target.tools.loop, {}, closing);
    setTimeout(() => closing.close(), 50);
    expect((await running).error).toMatchObject({ code: "cancelled" });
    await closing.close();
    const late = await dispatch(target.tools.echo, {}, closing);
    expect(late.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });

  describe("with the grant of a call", () => {
    const REFUSED = { status: "unavailable", effect: "none" } as const;

    /** A task with its grant, as the engine makes it, and what the grant is bound to. */
    function bound(): { task: SandboxTask; to: BoundTo } {
      const input = { greeting: "héllo" };
      const to: BoundTo = {
        callId: "call-1",
        canonical: new CanonicalJson(input),
        implementations: target.tools.echo,
        limits: { wallTimeMs: 10_000, outputBytes: 10_000 },
        capabilities: target.capabilities ?? {},
        sandbox: target.sandbox,
        definition: { digest: "0".repeat(64) },
      };
      const task: SandboxTask = {
        callId: to.callId,
        canonical: to.canonical,
        implementations: to.implementations,
        limits: to.limits,
        capabilities: to.capabilities,
        grant: new BoundGrant(to),
        sessionId: "session-1",
        toolName: "tool",
        input,
        signal: undefined,
        embedder: undefined,
        observer: { output: () => {}, log: () => {} },
      };
      return { task, to };
    }

    const sandbox = async (): Promise<Sandbox> => (await sandboxes.route(target.sandbox)) as Sandbox;

    test("runs the call once, and refuses it if it comes twice", async () => {
      const { task } = bound();
      const opened = await sandbox();
      expect(await opened.run(task)).toMatchObject({ status: "completed" });
      expect(await opened.run(task)).toMatchObject({
        ...REFUSED,
        detail: "the task's grant was used before",
      });
    });

    test("refuses a task that differs in anything that the grant is bound to", async () => {
      const { task, to } = bound();
      const opened = await sandbox();
      const other = target.sandbox === "host" ? "wasm" : "host";
      const tasks: [SandboxTask, string][] = [
        [{ ...task, grant: undefined as never }, "the task has no bound grant"],
        [{ ...task, grant: { digest: "0".repeat(64) } as never }, "the task has no bound grant"],
        [{ ...task, callId: "call-2" }, "the task's grant is for another call"],
        [
          { ...task, canonical: new CanonicalJson({ greeting: "bye" }) },
          "the task's grant is for other arguments",
        ],
        [{ ...task, input: { greeting: "bye" } }, "the task's arguments are not those of its canonical form"],
        [{ ...task, implementations: { ...task.implementations } }, "the task's grant is for another tool"],
        [{ ...task, limits: {} }, "the task's grant has other limits or capabilities"],
        [{ ...task, capabilities: { random: true } }, "the task's grant has other limits or capabilities"],
        [
          { ...task, grant: new BoundGrant({ ...to, sandbox: other }) },
          "the task's grant is for another sandbox",
        ],
      ];
      for (const [changed, detail] of tasks) {
        expect(await opened.run(changed)).toMatchObject({ ...REFUSED, detail });
      }
      // None of them used the grant.
      expect(await opened.run(task)).toMatchObject({ status: "completed" });
    });
  });
});
