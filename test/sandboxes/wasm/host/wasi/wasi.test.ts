import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../../../src/json/value.ts";
import type { Capabilities } from "../../../../../src/policy/grant/capabilities.ts";
import type { SandboxOutcome } from "../../../../../src/sandboxes/contract/outcome.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { logKeeper, wasmTask } from "../../../../fixtures/wasm/task.ts";
import { typedComponent } from "../../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../../fixtures/wasm/wasi-component.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-wasi-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
const component = await wasiComponent();
process.env["SANDGATE_TEST_GRANTED"] = 'a "value"';
process.env["SANDGATE_TEST_SECRET"] = "secret";
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

async function run(tool: string, capabilities: Capabilities = {}): Promise<SandboxOutcome> {
  return sandbox.run(wasmTask(component, tool, null, { capabilities }));
}

async function outputOf(tool: string, capabilities: Capabilities): Promise<JsonValue | undefined> {
  const outcome = await run(tool, capabilities);
  return outcome.status === "completed" ? outcome.output : undefined;
}

describe("a component", () => {
  test("a component sees only the environment variables that were granted", async () => {
    expect(await run("environment")).toMatchObject({ output: [] });
    expect(await run("environment", { clock: true, random: true })).toMatchObject({ output: [] });
    expect(
      await run("environment", { env: ["SANDGATE_TEST_GRANTED", "SANDGATE_TEST_NOT_SET"] }),
    ).toMatchObject({ output: ["SANDGATE_TEST_GRANTED", 'a "value"'] });
  });

  test.each([
    ["wall", "clock", "Tool used 'wasi:clocks/wall-clock' (now), which needs the capability 'clock'"],
    ["sleep", "clock", "Tool used 'wasi:clocks/monotonic-clock' (now), which needs the capability 'clock'"],
    [
      "random",
      "random",
      "Tool used 'wasi:random/random' (getRandomU64), which needs the capability 'random'",
    ],
    ["random_bytes", "random", "Tool used 'wasi:random/random' (getRandomBytes), which needs"],
  ] as const)("can use '%s' only with the capability '%s'", async (tool, capability, message) => {
    const others = { env: ["SANDGATE_TEST_GRANTED"], clock: true, random: true, [capability]: false };
    expect(await run(tool, others)).toMatchObject({
      status: "failed",
      message: expect.stringContaining(message),
      effect: "none",
    });
    expect(await run(tool, { [capability]: true })).toMatchObject({ status: "completed" });
  });

  test("a component can read the machine's clock and wait", async () => {
    const before = Math.floor(Date.now() / 1_000);
    const seconds = Number(await outputOf("wall", { clock: true }));
    expect(seconds).toBeGreaterThanOrEqual(before);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(await outputOf("sleep", { clock: true })).toBe(true);
  });

  test("a component that waits is ended by its deadline", async () => {
    const task = wasmTask(component, "sleep_for_ever", null, {
      capabilities: { clock: true },
      limits: { wallTimeMs: 300 },
    });
    expect(await sandbox.run(task)).toMatchObject({ status: "timeout" });
  });

  test("a component gets different random numbers", async () => {
    const random = { random: true };
    expect(await outputOf("random", random)).not.toEqual(await outputOf("random", random));
    expect(await outputOf("random_bytes", random)).toBe(16);
  });

  test("a component gets the fixed time and the seeded random numbers of its grant in each call", async () => {
    const frozen = { clock: true, frozenClock: 1_700_000_000_123 };
    expect(Number(await outputOf("wall", frozen))).toBe(1_700_000_000);
    expect(await run("wall", { frozenClock: 1 })).toMatchObject({ status: "failed" });
    expect(await outputOf("sleep", frozen)).toBeDefined();
    const seeded = (randomSeed: string): Capabilities => ({ random: true, randomSeed });
    const first = await outputOf("random", seeded("a"));
    expect(await outputOf("random", seeded("a"))).toEqual(first);
    expect(await outputOf("random", seeded("b"))).not.toEqual(first);
    expect(await run("random", { randomSeed: "a" })).toMatchObject({ status: "failed" });
  });

  test("a component logs at most as many lines as its limit, and the receipt counts them", async () => {
    const log = logKeeper();
    const limits = { wallTimeMs: 5_000, logLines: 2 };
    const outcome = await sandbox.run(wasmTask(component, "print", "hello", { observer: log, limits }));
    expect(outcome).toMatchObject({ status: "completed", used: { logLines: 2 } });
    await expect.poll(() => log.lines.at(-1)?.[1]).toContain("log truncated");
    expect(log.lines).toHaveLength(3);
    expect(await run("read")).not.toHaveProperty("used.logLines");
  });

  test("a component has an empty standard input and no directories", async () => {
    expect(await run("read")).toMatchObject({ output: true });
    expect(await run("directories")).toMatchObject({ output: 0 });
  });

  test("a component cannot use interfaces that no grant gives", async () => {
    const all = { env: ["HOME"], clock: true, random: true, net: ["https://*"] };
    expect(await run("zone", all)).toMatchObject({
      status: "failed",
      message: "Tool used 'wasi:clocks/timezone' (utcOffset), which is not available to tools",
    });
  });

  test("a component cannot construct resources of the host, such as a pollable that reveals the time", async () => {
    const own = await typedComponent(
      `import wasi:io/poll@0.2.3; import wasi:io/streams@0.2.3;
       export moment: func() -> u32; export output: func() -> u32;
       } package wasi:io@0.2.3 {
         interface poll { resource pollable { at: static func(when: u64) -> pollable; } }
         interface streams { resource output-stream { to: static func(sink: string) -> output-stream; } }`,
      `(func (export "moment") (result i32) (call $at (i64.const 0)))
       (func (export "output") (result i32) (call $to (i32.const 0) (i32.const 0)))`,
      `(import "wasi:io/poll@0.2.3" "[static]pollable.at" (func $at (param i64) (result i32)))
       (import "wasi:io/streams@0.2.3" "[static]output-stream.to" (func $to (param i32 i32) (result i32)))`,
    );
    for (const name of ["moment", "output"]) {
      const implementations = { wasm: { component: own, export: name } };
      expect(await sandbox.run(wasmTask(own, name, {}, { implementations }))).toMatchObject({
        status: "failed",
        message: expect.stringContaining("is not available to tools"),
      });
    }
  });

  test("a component that exits ends only its call", async () => {
    expect(await run("exit")).toMatchObject({
      status: "failed",
      message: "Tool exited without returning a result",
    });
    expect(await run("read")).toMatchObject({ status: "completed" });
  });

  test("standard output and standard error go to the log, line by line", async () => {
    const log = logKeeper();
    const task = wasmTask(component, "print", "hello", { observer: log });
    expect(await sandbox.run(task)).toMatchObject({ output: null });
    await expect
      .poll(() => log.lines)
      .toEqual([
        ["info", 'out "hello"'],
        ["warn", "err"],
        ["info", "and more"],
      ]);
  });

  test("standard output does not exceed the log's budget", async () => {
    const log = logKeeper();
    expect(await sandbox.run(wasmTask(component, "print_much", null, { observer: log }))).toMatchObject({
      output: null,
    });
    await expect.poll(() => log.lines.at(-1)?.[1]).toContain("log truncated");
    expect(log.lines.join("").length).toBeLessThan(70_000);
  });

  test("a component cannot exhaust the host's memory by passing the same bytes repeatedly", async () => {
    expect(await run("http_amplify")).toMatchObject({ status: "limit_exceeded", limit: "outputBytes" });
    expect(await run("http_list")).toMatchObject({ output: true });
  });
});
