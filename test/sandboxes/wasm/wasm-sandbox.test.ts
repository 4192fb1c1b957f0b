import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { contractComponent } from "../../fixtures/wasm/contract-component.ts";
import { logKeeper, wasmTask } from "../../fixtures/wasm/task.ts";
import { watComponent } from "../../fixtures/wasm/wat-component.ts";

const MIB = 1_024 * 1_024;
const root = mkdtempSync(join(tmpdir(), "sandgate-wasm-"));
const cacheDirectory = join(root, "cache");
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 2 } });
const component = await contractComponent();
afterAll(async () => {
  await sandbox.close();
  rmSync(root, { recursive: true, force: true });
});

describe("a Wasm tool", () => {
  test("a Wasm tool gets its input and the context of the call", async () => {
    const input = { text: 'ünï"\\\n\u{1f600}', list: [1, null] };
    expect(await sandbox.run(wasmTask(component, "echo", input))).toMatchObject({
      status: "completed",
      output: input,
      used: { outputBytes: Buffer.byteLength(JSON.stringify(input)), memoryBytes: 65_536 + TABLE_BYTES },
    });
    const limits = { wallTimeMs: 9_000 };
    expect(await sandbox.run(wasmTask(component, "context", null, { limits }))).toMatchObject({
      output: { callId: "call-1", wallTimeMs: 9_000 },
    });
    expect(await sandbox.run(wasmTask(component, "context", null, { limits: {} }))).toMatchObject({
      output: { callId: "call-1", wallTimeMs: null },
    });
  });

  test("a Wasm tool is called by the name that its implementation sets", async () => {
    const implementations = { wasm: { component, tool: "echo" } };
    const task = wasmTask(component, "alias", [1], { implementations });
    expect(await sandbox.run(task)).toMatchObject({ output: [1] });
    expect(await sandbox.run(wasmTask(component, "alias"))).toMatchObject({
      status: "failed",
      message: "this component has no such tool",
      effect: "none",
    });
  });

  test("a Wasm tool can be a path, a file URL or bytes", async () => {
    for (const given of [pathToFileURL(component), pathToFileURL(component).href, readFileSync(component)]) {
      expect(await sandbox.run(wasmTask(given, "echo", 1))).toMatchObject({ output: 1 });
    }
  });

  test("a Wasm tool can write to the log, report progress and check its deadline", async () => {
    const log = logKeeper();
    expect(await sandbox.run(wasmTask(component, "report", null, { observer: log }))).toMatchObject({
      output: false,
      used: { logLines: 3 },
    });
    await expect
      .poll(() => log.lines)
      .toEqual([
        ["warn", "halfway"],
        ["info", "progress: 1"],
        ["info", "progress: 1.5 of 3: halfway"],
      ]);
  });

  test("a Wasm tool never sees the state of an earlier call", async () => {
    const counts = await Promise.all(
      Array.from({ length: 6 }, () => sandbox.run(wasmTask(component, "count"))),
    );
    expect(counts.map((outcome) => "output" in outcome && outcome.output)).toEqual(Array(6).fill(1));
  });

  test.each([
    ["traps", "trap", { status: "failed", message: "Tool trapped: unreachable" }],
    ["recurses without end", "recurse", { status: "failed", message: /call stack/ }],
    ["takes all memory", "bomb", { status: "limit_exceeded", limit: "memoryBytes" }],
    ["returns no JSON", "garbage", { status: "failed", message: "Tool returned invalid JSON" }],
    [
      "reports an error",
      "fail",
      { status: "failed", message: "no such record", detail: "error code not-found" },
    ],
    ["never ends", "loop", { status: "timeout" }],
  ])("a Wasm tool that %s does not affect the next call", async (_what, tool, {
    message,
    ...expected
  }: Expected) => {
    const limits = { wallTimeMs: 1_000, memoryBytes: 4 * MIB };
    const outcome = await sandbox.run(wasmTask(component, tool, null, { limits }));
    expect(outcome).toMatchObject({ ...expected, effect: "none" });
    if (message !== undefined) expect(outcome).toMatchObject({ message: expect.stringMatching(message) });
    expect(await sandbox.run(wasmTask(component, "echo", tool))).toMatchObject({ output: tool });
  });
});

/** The component has a table of two entries, which counts as memory. */
const TABLE_BYTES = 64;

type Expected = { message?: string | RegExp } & Record<string, unknown>;

describe("the memory limit", () => {
  test("the memory limit caps a component's memories and tables exactly", async () => {
    const task = (memoryBytes: number) => wasmTask(component, "bomb", null, { limits: { memoryBytes } });
    for (const memoryBytes of [MIB, 3 * MIB + 65_536]) {
      expect(await sandbox.run(task(memoryBytes))).toMatchObject({
        status: "limit_exceeded",
        used: { memoryBytes: TABLE_BYTES + 65_536 * Math.floor((memoryBytes - TABLE_BYTES) / 65_536) },
      });
    }
  });

  test("a component that declares more memory than its limit does not start", async () => {
    const large = await watComponent({ memory: '(memory (export "memory") 32)' });
    const task = (memoryBytes: number) => wasmTask(large, "any", "hello", { limits: { memoryBytes } });
    expect(await sandbox.run(task(2 * MIB - 1))).toEqual({
      status: "limit_exceeded",
      limit: "memoryBytes",
      effect: "none",
      used: { wallTimeMs: 0 },
    });
    expect(await sandbox.run(task(2 * MIB))).toMatchObject({ output: "hello" });
    await sandbox.prepare({
      wasm: { component: await watComponent({ memory: '(memory (export "memory") 2048)' }) },
    });
  });
});

describe("the output limit", () => {
  test("the output limit counts bytes of JSON text, and a much larger output never leaves the component", async () => {
    const task = (bytes: number) =>
      wasmTask(component, "large", { bytes }, { limits: { memoryBytes: 64 * MIB, outputBytes: 1_002 } });
    expect(await sandbox.run(task(1_000))).toMatchObject({
      status: "completed",
      used: { outputBytes: 1_002 },
    });
    for (const bytes of [1_001, 4 * MIB]) {
      expect(await sandbox.run(task(bytes))).toMatchObject({
        status: "limit_exceeded",
        limit: "outputBytes",
      });
    }
  });

  test("the output limit does not apply to a tool's error message", async () => {
    const task = wasmTask(component, "fail", null, { limits: { outputBytes: 4 } });
    expect(await sandbox.run(task)).toMatchObject({ status: "failed", message: "no such record" });
  });
});

describe("closing the sandbox", () => {
  test("closing the sandbox ends running calls, refuses new ones, and can be repeated", async () => {
    const closing = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
    const implementations = { wasm: { component } };
    await closing.prepare(implementations);
    const running = closing.run(wasmTask(component, "loop", null, { implementations }));
    await new Promise((resolve) => setImmediate(resolve));
    await closing.close();
    await closing.close();
    expect(await running).toMatchObject({ status: "cancelled", effect: "none" });
    expect(await closing.run(wasmTask(component, "echo"))).toMatchObject({
      status: "unavailable",
      detail: "the sandbox is closed",
    });
    await expect(closing.prepare({ wasm: { component } })).rejects.toThrow("the sandbox is closed");
  });

  test("closing the sandbox cancels a call whose component is still being prepared", async () => {
    const opened = new WasmSandbox({ cacheDirectory: join(root, "closed"), workers: { threads: 1 } });
    const running = opened.run(wasmTask(component, "loop"));
    await opened.close();
    expect(await running).toEqual({ status: "cancelled", effect: "none", used: { wallTimeMs: 0 } });
  });

  test("a call that is cancelled before its component is ready does not run", async () => {
    const opened = new WasmSandbox({ cacheDirectory: join(root, "cancelled"), workers: { threads: 1 } });
    const aborting = new AbortController();
    const running = opened.run(wasmTask(component, "loop", null, { signal: aborting.signal }));
    aborting.abort();
    expect(await running).toEqual({ status: "cancelled", effect: "none", used: { wallTimeMs: 0 } });
    await opened.close();
  });
});
