import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../../src/engine/registry.ts";
import type { JsonValue } from "../../../../../src/json/value.ts";
import type { Capabilities } from "../../../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../../src/policy/policy.ts";
import type { SandboxOutcome } from "../../../../../src/sandboxes/contract/outcome.ts";
import { openSandboxes } from "../../../../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../../../../src/sandboxes/wasm/tools/component-tools.ts";
import { inspectComponent } from "../../../../../src/sandboxes/wasm/tools/inspect-component.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import type { WasmImplementation } from "../../../../../src/tool/implementations/implementations.ts";
import { counterComponent } from "../../../../fixtures/wasm/counter-component.ts";
import { logKeeper, wasmTask } from "../../../../fixtures/wasm/task.ts";
import { typedComponent } from "../../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../../fixtures/wasm/wasi-component.ts";

const MIB = 1_024 * 1_024;
const root = mkdtempSync(join(tmpdir(), "sandgate-jco-"));
const sandbox = new WasmSandbox({ cacheDirectory: root, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(root, { recursive: true, force: true });
});

interface Call extends Omit<WasmImplementation, "component"> {
  readonly input?: JsonValue;
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
}

/** Calls a tool in jco's engine. */
async function run(
  component: WasmImplementation["component"],
  { input = {}, capabilities, limits, ...named }: Call,
): Promise<SandboxOutcome> {
  const implementations = { wasm: { component, engine: "jco", ...named } } as const;
  return sandbox.run(
    wasmTask(component, "tool", input, {
      implementations,
      capabilities: { engine: "jco", ...capabilities },
      ...(limits && { limits }),
    }),
  );
}

describe("a tool that takes resources", () => {
  const counters = (name: string): Call => ({ export: `docs:counters/counters#${name}` });
  const started = (start: number): JsonValue => ({ tag: "[constructor]counter", val: { start } });

  test("a method gets a resource that is made for the call", async () => {
    const component = await counterComponent();
    const call = counters("[method]counter.add");
    expect(await run(component, { ...call, input: { self: started(3), n: 4 } })).toMatchObject({
      status: "completed",
      output: 7,
      used: { engine: "jco" },
    });
    const parsed = { tag: "[static]counter.parse", val: { text: "A" } };
    expect(await run(component, { ...call, input: { self: parsed, n: 1 } })).toMatchObject({ output: 66 });
  });

  test("resources can be lent, given away, and be in lists", async () => {
    const input = { a: started(1), b: { tag: "make" }, more: [started(10), started(20)] };
    expect(await run(await counterComponent(), { ...counters("sum"), input })).toMatchObject({ output: 38 });
  });

  test("a resource that cannot be made fails the call, with the reason", async () => {
    const self = { tag: "[static]counter.parse", val: { text: "too long" } };
    const call = { ...counters("[method]counter.add"), input: { self, n: 1 } };
    expect(await run(await counterComponent(), call)).toMatchObject({
      status: "failed",
      message: expect.stringContaining(`'[static]counter.parse' failed: "it must have one character"`),
    });
  });

  test("a function that returns a resource is refused, because no resource outlives its call", async () => {
    expect(await run(await counterComponent(), counters("make"))).toMatchObject({
      status: "unavailable",
      detail: expect.stringContaining("it takes or returns a resource"),
    });
  });

  test.each([
    ["streams", "func(a: stream<u8>)", "(param i32)", "it takes or returns a stream, which is not supported"],
    [
      "futures",
      "func(a: future<u32>)",
      "(param i32)",
      "it takes or returns a future, which is not supported",
    ],
    ["async", "async func(a: u32)", "(param i32)", "it is asynchronous, which is not supported"],
  ])("%s are refused by name", async (_what, type, params, reason) => {
    const component = await typedComponent(`export f: ${type};`, `(func (export "f") ${params})`);
    const { exports } = await inspectComponent(component, { engine: "jco" });
    expect(exports).toMatchObject([{ name: "f", refused: reason }]);
  });

  test("the reason is JSON, as in outputs", async () => {
    const component = Buffer.from(
      await parse(`(component
        (component $i
          (import "r" (type $r (sub resource)))
          (import "make" (func $make (result (result (own $r) (error (tuple u64 (list u8)))))))
          (import "take" (func $take (param "a" (own $r))))
          (export $x "x" (type $r))
          (export "make" (func $make) (func (result (result (own $x) (error (tuple u64 (list u8)))))))
          (export "take" (func $take) (func (param "a" (own $x)))))
        (type $r (resource (rep i32)))
        (core module $m
          (memory (export "memory") 1)
          (data (i32.const 16) "\\01\\00\\00\\00\\00\\00\\00\\00\\07")
          (func (export "make") (result i32) i32.const 16)
          (func (export "take") (param i32)))
        (core instance $c (instantiate $m))
        (func $make (result (result (own $r) (error (tuple u64 (list u8)))))
          (canon lift (core func $c "make") (memory $c "memory")))
        (func $take (param "a" (own $r)) (canon lift (core func $c "take")))
        (instance $out (instantiate $i
          (with "r" (type $r)) (with "make" (func $make)) (with "take" (func $take))))
        (export "a:b/c" (instance $out)))`),
    );
    expect(await run(component, { export: "a:b/c#take", input: { a: { tag: "make" } } })).toMatchObject({
      message: expect.stringContaining(`'make' failed: [7,""]`),
    });
  });

  test("what makes the resources cannot multiply the types beyond their limit", async () => {
    const params = Array.from({ length: 1_000 }, (_, index) => `(param "p${index}" u8)`).join(" ");
    const taken = Array.from({ length: 1_000 }, () => "(own $x)").join(" ");
    const component = Buffer.from(
      await parse(`(component
        (component $i
          (import "r" (type $r (sub resource)))
          (import "make" (func $make ${params} (result (own $r))))
          (import "take" (func $take (param "all" (list (tuple ${taken.replaceAll("$x", "$r")})))))
          (export $x "x" (type $r))
          (export "make" (func $make) (func ${params} (result (own $x))))
          (export "take" (func $take) (func (param "all" (list (tuple ${taken}))))))
        (type $r (resource (rep i32)))
        (core module $m
          (memory (export "memory") 1)
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 16)
          (func (export "make") (param i32) (result i32) i32.const 1)
          (func (export "take") (param i32 i32)))
        (core instance $c (instantiate $m))
        (func $make ${params} (result (own $r))
          (canon lift (core func $c "make") (memory $c "memory") (realloc (func $c "realloc"))))
        (func $take (param "all" (list (tuple ${taken.replaceAll("$x", "$r")})))
          (canon lift (core func $c "take") (memory $c "memory") (realloc (func $c "realloc"))))
        (instance $out (instantiate $i
          (with "r" (type $r)) (with "make" (func $make)) (with "take" (func $take))))
        (export "a:b/c" (instance $out)))`),
    );
    await expect(inspectComponent(component, { engine: "jco" })).rejects.toThrow(/parts of types/);
    await expect(inspectComponent(component)).resolves.toMatchObject({ imports: [] });
  });

  test("Sandgate's own engine refuses it", async () => {
    const component = await counterComponent();
    const implementations = { wasm: { component, export: "docs:counters/counters#sum" } };
    expect(await sandbox.run(wasmTask(component, "tool", {}, { implementations }))).toMatchObject({
      status: "unavailable",
      detail: expect.stringContaining("a resource"),
    });
  });
});

describe("jco's code gets what the grant gives, and no more", () => {
  test("its imports are those of Sandgate's own engine", async () => {
    process.env["SANDGATE_TEST_JCO"] = "value";
    const component = await wasiComponent();
    const call = (tool: string, capabilities: Capabilities = {}): Promise<SandboxOutcome> =>
      run(component, { tool, input: null, capabilities });
    expect(await call("environment")).toMatchObject({ output: [] });
    expect(await call("environment", { env: ["SANDGATE_TEST_JCO"] })).toMatchObject({
      output: ["SANDGATE_TEST_JCO", "value"],
    });
    expect(await call("random")).toMatchObject({
      status: "failed",
      message: expect.stringContaining("needs the capability 'random'"),
    });
    expect(await call("random", { random: true })).toMatchObject({ status: "completed" });
  });

  test("a call without the capability does not run", async () => {
    const component = new Uint8Array();
    const implementations = { wasm: { component, engine: "jco" } } as const;
    expect(await sandbox.run(wasmTask(component, "any", {}, { implementations }))).toMatchObject({
      status: "unavailable",
      detail: "the tool runs in the engine 'jco', which is not granted",
    });
  });

  test("what it logs is in the log of the call", async () => {
    const component = await wasiComponent();
    const observer = logKeeper();
    const implementations = { wasm: { component, engine: "jco" } } as const;
    const task = wasmTask(component, "print", null, {
      implementations,
      observer,
      capabilities: { engine: "jco" },
    });
    const plain = logKeeper();
    expect(await sandbox.run(task)).toMatchObject({ status: "completed" });
    await sandbox.run(wasmTask(component, "print", null, { observer: plain }));
    expect(observer.lines.length).toBeGreaterThan(0);
    expect(observer.lines).toEqual(plain.lines);
  });
});

describe("the limits of a call hold", async () => {
  const limits = { wallTimeMs: 300, memoryBytes: 32 * MIB };
  const component = await limitsComponent();
  const call = (name: string, given: ResourceLimits = limits): Promise<SandboxOutcome> =>
    run(component, { export: name, limits: given });

  test.each([
    "loop",
    "fill",
  ])("a component that does not end is stopped at its deadline: %s", async (name) => {
    for (let times = 0; times < 2; times++) {
      const outcome = await call(name);
      expect(outcome).toMatchObject({ status: "timeout", used: { engine: "jco" } });
      expect(outcome).not.toHaveProperty("mayStillRun");
    }
  });

  test.each([
    ["memory cannot grow beyond the limit", "grow"],
    ["strings that overlap are charged", "strings"],
    ["lists of bytes that overlap are charged", "bytes"],
  ])("%s", async (_what, name) => {
    expect(await call(name, { memoryBytes: 32 * MIB, outputBytes: 1e9 })).toMatchObject({
      status: "limit_exceeded",
      limit: "memoryBytes",
    });
  });

  test.each([
    ["lists", "bools"],
    ["tables of resources", "resources"],
  ])("%s do not grow so large that V8 would end the process", async (_what, name) => {
    const many = name === "resources" ? await manyResources() : component;
    const limits = { memoryBytes: 32 * MIB, outputBytes: 1e9 };
    const call = { export: name, input: name === "resources" ? { n: 300_000 } : {}, limits };
    expect(await run(many, call)).toMatchObject({ status: "limit_exceeded", limit: "memoryBytes" });
  });

  test("every call gets a fresh instance, even after a trap", async () => {
    for (let times = 0; times < 3; times++) {
      expect(await call("count")).toMatchObject({ status: "completed", output: 1 });
      expect(await call("trap")).toMatchObject({ status: "failed", message: "Tool trapped: unreachable" });
    }
  });
});

/** A component that makes 300,000 resources. */
async function manyResources(): Promise<Uint8Array> {
  return Buffer.from(
    await parse(`(component
      (type $r (resource (rep i32)))
      (core func $new (canon resource.new $r))
      (core module $m
        (import "r" "new" (func $new (param i32) (result i32)))
        (func (export "make") (param i32)
          (loop $next
            (drop (call $new (local.get 0)))
            (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))
      (core instance $i (instantiate $m (with "r" (instance (export "new" (func $new))))))
      (func (export "resources") (param "n" u32) (canon lift (core func $i "make"))))`),
  );
}

/** A component whose functions exceed limits. */
function limitsComponent(): Promise<Uint8Array> {
  const items = 400;
  // Each item is the first MiB of memory.
  const overlapping = `(func (export "strings") (export "bytes") (result i32) (local $at i32)
    (drop (memory.grow (i32.const 32)))
    (local.set $at (i32.const ${MIB}))
    (loop $l
      (i32.store offset=4 (local.get $at) (i32.const ${MIB}))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $l (i32.lt_u (local.get $at) (i32.const ${MIB + items * 8}))))
    (i32.store (i32.const ${2 * MIB}) (i32.const ${MIB}))
    (i32.store (i32.const ${2 * MIB + 4}) (i32.const ${items}))
    i32.const ${2 * MIB})`;
  return typedComponent(
    `export loop: func(); export fill: func(); export grow: func(); export trap: func(); export count: func() -> u32;
     export strings: func() -> list<string>; export bytes: func() -> list<list<u8>>;
     export bools: func() -> list<bool>;`,
    `(func (export "loop") (loop (br 0)))
    (func (export "fill")
      (drop (memory.grow (i32.const 480)))
      (loop $l (memory.fill (i32.const 0) (i32.const 0) (i32.const 31457280)) (br $l)))
    (func (export "grow")
      (drop (memory.grow (i32.const 480)))
      (if (i32.eq (memory.grow (i32.const 400)) (i32.const -1)) (then unreachable)))
    (func (export "bools") (result i32)
      (drop (memory.grow (i32.const 32)))
      (i32.store (i32.const 16) (i32.const 4096))
      (i32.store (i32.const 20) (i32.const 1000001))
      i32.const 16)
    (func (export "trap") unreachable)
    (global $calls (mut i32) (i32.const 0))
    (func (export "count") (result i32)
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      global.get $calls)
    ${overlapping}`,
  );
}

describe("a policy decides whether a tool may run in jco's engine", async () => {
  const sandboxes = await openSandboxes({ wasm: { cacheDirectory: root }, workers: { threads: 1 } });
  afterAll(() => sandboxes.close());
  const { tools } = await componentTools(await counterComponent(), sandboxes, { engine: "jco" });
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const counter = { tag: "[constructor]counter", val: { start: 3 } };

  async function dispatch(
    capabilities: Capabilities,
    upperBound?: DispatchContext["upperBound"],
  ): Promise<ToolExecution | null> {
    const policy = { check: () => allow({ sandbox: "wasm", capabilities }) };
    const context = { registry, policy, sandboxes, sessionId: "jco", ...(upperBound && { upperBound }) };
    const call = { id: "1", name: "counter_add", arguments: { self: counter, n: 4 } };
    return new ToolDispatchEngine().dispatch(call, context);
  }
  const denied = {
    success: false,
    error: {
      code: "permission_denied",
      message: "Permission denied: tool 'counter_add' needs the capability 'engine', which was not granted",
      effect: "none",
    },
  };

  test("componentTools describes its functions that take resources", () => {
    expect(tools.map(({ name }) => name)).toEqual(["counter_add", "sum"]);
    expect(tools[0]?.wasm.engine).toBe("jco");
  });

  test("a call with the capability runs, and the receipt names the engine", async () => {
    expect(await dispatch({ engine: "jco" })).toMatchObject({
      success: true,
      output: 7,
      receipt: { used: { engine: "jco" } },
    });
  });

  test("a call without the capability is denied, with a text that names it", async () => {
    expect(await dispatch({ clock: true })).toMatchObject(denied);
  });

  test("an upper bound without the capability takes it away", async () => {
    const bound = { sandboxes: ["wasm"], limits: {}, capabilities: {} } as const;
    expect(await dispatch({ engine: "jco" }, bound)).toMatchObject(denied);
    expect(await dispatch({ engine: "jco" }, { ...bound, capabilities: { engine: "jco" } })).toMatchObject({
      success: true,
    });
  });
});
