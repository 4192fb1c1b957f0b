import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import type { JsonObject, JsonValue } from "../../../../src/json/value.ts";
import { allow } from "../../../../src/policy/policy.ts";
import type { SandboxOutcome } from "../../../../src/sandboxes/contract/outcome.ts";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../../../src/sandboxes/wasm/tools/component-tools.ts";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";
import { echoComponent, PADDED, typedComponent } from "../../../fixtures/wasm/typed-component.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";

const MIB = 1_024 * 1_024;
const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-exports-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
const sandboxes = await openSandboxes({ wasm: { cacheDirectory }, workers: { threads: 1 } });
afterAll(async () => {
  await Promise.all([sandbox.close(), sandboxes.close()]);
  rmSync(cacheDirectory, { recursive: true, force: true });
});

function call(
  component: Uint8Array | string,
  name: string,
  input: JsonValue,
  limits: { outputBytes?: number; memoryBytes?: number; wallTimeMs?: number } = {},
): Promise<SandboxOutcome> {
  const implementations = { wasm: { component, export: name } };
  return sandbox.run(
    wasmTask(component, "tool", input, { implementations, limits: { wallTimeMs: 9_000, ...limits } }),
  );
}

describe("any exported function of any component", () => {
  test.each<[string, string, string, JsonValue[]]>([
    ["strings", "string", "", ["", "ünï\u{1f600}\u0000", "a".repeat(70_000)]],
    ["bytes", "list<u8>", "", ["", "AAEC/w=="]],
    [
      "lists of records",
      "list<pair>",
      "record pair { key: string, %constructor: option<s8> }",
      [
        [],
        [
          { key: "a", constructor: -1 },
          { key: "b", constructor: null },
        ],
      ],
    ],
    [
      "variants",
      "shape",
      "record point { x: f64, y: f64 } variant shape { nothing, circle(f32), polygon(list<point>) }",
      [{ tag: "nothing" }, { tag: "circle", val: 1.5 }, { tag: "polygon", val: [{ x: 1, y: -0.5 }] }],
    ],
    [
      "64-bit integers",
      "tuple<s64, u64>",
      "",
      [
        [-1, 1],
        ["-9223372036854775808", "18446744073709551615"],
        [9_007_199_254_740_991, "9007199254740992"],
      ],
    ],
    [
      "small integers",
      "tuple<s8, u8, s16, u16, s32, u32, bool, char>",
      "",
      [[-128, 255, -32768, 65535, -2147483648, 4294967295, true, "\u{10ffff}"]],
    ],
    [
      "flags and enums",
      "tuple<perm, color>",
      "flags perm { read, write, exec } enum color { red, green }",
      [
        [["read", "exec"], "green"],
        [[], "red"],
      ],
    ],
    ["options of options", "option<option<string>>", "", [null, { some: null }, { some: "a" }]],
    [
      "results inside",
      "tuple<result<u8, string>, result, result<_, u8>>",
      "",
      [
        [{ ok: 1 }, { ok: null }, { err: 2 }],
        [{ err: "no" }, { err: null }, { ok: null }],
      ],
    ],
  ])("an exported function takes and returns %s", async (_what, type, types, values) => {
    const component = await echoComponent(type, types);
    for (const v of values) {
      expect(await call(component, "echo", { v, ...PADDED })).toMatchObject({
        status: "completed",
        output: v,
      });
    }
  });

  test("invalid arguments fail with path and reason before the function starts", async () => {
    const component = await echoComponent("tuple<u8, list<string>>");
    for (const [v, message] of [
      [[256, []], "/v/0 must be an integer from 0 to 255"],
      [[1.5, []], "/v/0 must be an integer from 0 to 255"],
      [[1, ["a", 2]], "/v/1/1 must be string"],
      [[1, ["\ud800"]], "/v/1/0 must be well-formed Unicode, but has a lone surrogate"],
      [[1], "/v must have 2 items"],
    ] as const) {
      expect(await call(component, "echo", { v, ...PADDED })).toMatchObject({
        status: "failed",
        message: `Invalid arguments: ${message}`,
        effect: "none",
      });
    }
    expect(await call(component, "echo", PADDED)).toMatchObject({
      message: "Invalid arguments: / must have required property 'v'",
    });
  });

  test("a component that violates the ABI fails with a message that says how", async () => {
    const component = await typedComponent(
      "export pair: func(at: u32) -> tuple<u32, u32>;",
      '(func (export "pair") (param i32) (result i32) local.get 0)',
    );
    for (const [at, why] of [
      [2, "a pointer is not aligned"],
      [65_532, "a value is out of the bounds of memory"],
    ] as const) {
      expect(await call(component, "pair", { at })).toMatchObject({
        status: "failed",
        message: `Tool violated the component ABI: ${why}`,
      });
    }
  });

  test("a number that is too large for f32 is refused, and -0 is 0 in outputs", async () => {
    const component = await typedComponent(
      "export negate: func(single: f32, double: f64) -> f64;",
      `(func (export "negate") (param f32 f64) (result f64)
         (f64.mul (f64.neg (f64.promote_f32 (local.get 0))) (local.get 1)))`,
    );
    expect(await call(component, "negate", { single: 1e39, double: 1 })).toMatchObject({
      status: "failed",
      message:
        "Invalid arguments: /single must be a number that fits in f32, whose largest is about 3.4028235e38",
    });
    expect(await call(component, "negate", { single: 0, double: 1 })).toMatchObject({ output: 0 });
  });

  test("a function fails with the 'err' of its result, and succeeds with its 'ok'", async () => {
    const component = await typedComponent(
      "record reason { code: u16 } export check: func(ok: bool) -> result<u32, reason>; export stop: func() -> result<_, string>; export odd: func() -> result;",
      `(data (i32.const 64) "broken")
       (func (export "check") (param i32) (result i32)
         (i32.store8 (i32.const 16) (i32.eqz (local.get 0)))
         (i32.store (i32.const 20) (i32.const 7)) i32.const 16)
       (func (export "stop") (result i32)
         (i32.store (i32.const 16) (i32.const 1)) (i32.store (i32.const 20) (i32.const 64))
         (i32.store (i32.const 24) (i32.const 6)) i32.const 16)
       (func (export "odd") (result i32) i32.const 1)`,
    );
    expect(await call(component, "check", { ok: true })).toMatchObject({ status: "completed", output: 7 });
    expect(await call(component, "check", { ok: false })).toMatchObject({
      status: "failed",
      message: '{"code":7}',
    });
    expect(await call(component, "stop", {})).toMatchObject({ status: "failed", message: "broken" });
    expect(await call(component, "odd", {})).toMatchObject({
      message: "Tool failed without an error message",
    });
  });

  test.each([
    "then",
    "constructor",
    "to-string",
    "value-of",
    "has-own-property",
  ])("an exported function may be called '%s'", async (name) => {
    const component = await typedComponent(
      `export %${name}: func(%${name}: u32) -> u32;`,
      `(func (export "${name}") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))`,
    );
    expect(await call(component, name, { [name]: 41 })).toMatchObject({ output: 42 });
  });

  test("a function without output succeeds by exiting with success", async () => {
    const component = await parse(`(component
      (import "wasi:cli/exit@0.2.3" (instance $exit (export "exit" (func (param "status" (result))))))
      (core func $exit (canon lower (func $exit "exit")))
      (core module $m (import "host" "exit" (func $exit (param i32)))
        (func (export "run") (param i32) (result i32) (call $exit (local.get 0)) i32.const 0))
      (core instance $i (instantiate $m (with "host" (instance (export "exit" (func $exit))))))
      (func (export "run") (param "code" u32) (result (result)) (canon lift (core func $i "run")))
      (func (export "count") (param "code" u32) (result u32) (canon lift (core func $i "run"))))`);
    const exited = { status: "failed", message: "Tool exited without returning a result" };
    expect(await call(component, "run", { code: 0 })).toMatchObject({ status: "completed", output: null });
    expect(await call(component, "run", { code: 1 })).toMatchObject(exited);
    expect(await call(component, "count", { code: 0 })).toMatchObject(exited);
  });

  test("a component cannot continue after an error that ends its call, even if it catches it", async () => {
    const component = await parse(`(component
      (import "wasi:random/random@0.2.3" (instance $random (export "get-random-u64" (func (result u64)))))
      (import "wasi:cli/exit@0.2.3" (instance $exit (export "exit" (func (param "status" (result))))))
      (core func $draw (canon lower (func $random "get-random-u64")))
      (core func $exit (canon lower (func $exit "exit")))
      (core module $m
        (import "host" "draw" (func $draw (result i64)))
        (import "host" "exit" (func $exit (param i32)))
        (func (export "run") (result i32)
          (block $caught (try_table (catch_all $caught) (drop (call $draw))))
          (block $again (try_table (catch_all $again) (call $exit (i32.const 0))))
          i32.const 7))
      (core instance $i (instantiate $m
        (with "host" (instance (export "draw" (func $draw)) (export "exit" (func $exit))))))
      (func (export "run") (result u32) (canon lift (core func $i "run"))))`);
    expect(await call(component, "run", {})).toMatchObject({
      status: "failed",
      message: expect.stringContaining("needs the capability 'random'"),
    });
    const implementations = { wasm: { component, export: "run" } };
    const granted = wasmTask(component, "t", {}, { implementations, capabilities: { random: true } });
    expect(await sandbox.run(granted)).toMatchObject({ message: "Tool exited without returning a result" });
  });

  test("an export that does not exist is refused with the names of those that do", async () => {
    const component = await typedComponent("export run: func();", '(func (export "run"))');
    const prepare = (name?: string) =>
      sandbox.prepare({ wasm: { component, ...(name && { export: name }) } });
    await expect(prepare("other")).rejects.toThrow("it does not export 'other': it exports 'run'");
    await expect(prepare("__proto__")).rejects.toThrow("it does not export '__proto__'");
    await expect(prepare()).rejects.toThrow(/does not export 'sandgate:tool\/guest@0.1.0'.*it exports 'run'/);
    await expect(prepare("run")).resolves.toBeUndefined();
    expect(await call(component, "run", {})).toMatchObject({ status: "completed", output: null });
  });

  test("a component cannot exhaust the host's memory with a list whose items share their bytes", async () => {
    const component = await typedComponent(
      "export strings: func(n: u32) -> list<string>; export pairs: func(n: u32) -> list<list<tuple<u32, u32>>>;",
      `(func $fill (export "strings") (param i32) (result i32) (local $i i32)
         (drop (memory.grow (i32.const 40)))
         (loop $l
           (i32.store (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 8))) (i32.const 0))
           (i32.store (i32.add (i32.const 65540) (i32.mul (local.get $i) (i32.const 8))) (i32.const 131072))
           (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 0))))
         (i32.store (i32.const 16) (i32.const 65536)) (i32.store (i32.const 20) (local.get 0)) i32.const 16)
       (func (export "pairs") (param i32) (result i32) (call $fill (local.get 0)))`,
    );
    for (const [name, limit] of [
      ["strings", "outputBytes"],
      ["pairs", "memoryBytes"],
    ] as const) {
      expect(await call(component, name, { n: 127 }, { outputBytes: 4 * MIB })).toMatchObject({
        status: "limit_exceeded",
        limit,
      });
    }
    expect(await call(component, "strings", { n: 1 }, { outputBytes: 4 * MIB })).toMatchObject({
      status: "completed",
    });
  });
});

describe("the tools of a component", () => {
  test("the tools of a component can be registered and called", async () => {
    const component = await typedComponent(
      "export add: func(a: u32, b: option<u32>) -> u64;",
      `(func (export "add") (param i32 i32 i32) (result i64)
         (i64.add (i64.extend_i32_u (local.get 0)) (i64.extend_i32_u (local.get 2))))`,
    );
    const { tools, refused } = await componentTools(component, sandboxes);
    expect(refused).toEqual([]);
    expect(tools).toEqual([
      {
        name: "add",
        description: "add: func(a: u32, b: option<u32>) -> u64",
        inputSchema: expect.objectContaining({ required: ["a"], additionalProperties: false }),
        wasm: { component, export: "add" },
      },
    ]);
    const registry = new ToolRegistry();
    for (const tool of tools) registry.register(tool);
    const ctx = { registry, policy: { check: () => allow({ sandbox: "wasm" }) }, sandboxes, sessionId: "s" };
    const dispatch = (args: JsonObject) =>
      new ToolDispatchEngine().dispatch({ id: "1", name: "add", arguments: args }, ctx);
    expect(await dispatch({ a: 4_294_967_295, b: 1 })).toMatchObject({
      success: true,
      output: 4_294_967_296,
    });
    expect(await dispatch({ a: 1 })).toMatchObject({ success: true, output: 1 });
    expect(await dispatch({ a: -1 })).toMatchObject({ error: { code: "validation_error" } });
  });

  test("tools with the same name are distinguished by their interface, and other functions refused with a reason", async () => {
    const wat = `(component
      (core module $m (func (export "f") (param i32)) (func (export "g")) (memory (export "memory") 1))
      (core instance $i (instantiate $m))
      (type $r (resource (rep i32)))
      (func $take (param "r" (borrow $r)) (canon lift (core func $i "f")))
      (func $run (canon lift (core func $i "g")))
      (component $c (import "f" (func $f)) (export "run" (func $f)))
      (instance $a (instantiate $c (with "f" (func $run))))
      (export "r" (type $r))
      (export "a:b/one@1.0.0" (instance $a))
      (export "a:b/two@1.0.0" (instance $a))
      (export "alone" (func $run)))`;
    const { tools } = await componentTools(await parse(wat), sandboxes);
    expect(tools.map(({ name, wasm }) => [name, wasm.export])).toEqual([
      ["one_run", "a:b/one@1.0.0#run"],
      ["two_run", "a:b/two@1.0.0#run"],
      ["alone", "alone"],
    ]);
    const withResource = `(component
      (core module $m (func (export "f") (param i32)))
      (core instance $i (instantiate $m))
      (type $r' (resource (rep i32)))
      (export $r "r" (type $r'))
      (func $take (param "r" (own $r)) (canon lift (core func $i "f")))
      (export "take" (func $take)))`;
    expect(await componentTools(await parse(withResource), sandboxes)).toEqual({
      tools: [],
      refused: [
        {
          export: "take",
          reason: "it takes or returns a resource (resource), which has no JSON representation",
        },
      ],
    });
  });

  test("the tools of the world 'sandgate:tool' are those that it describes, not its functions", async () => {
    const component = await contractComponent();
    expect(await componentTools(component, sandboxes)).toEqual({
      refused: [],
      tools: [
        {
          name: "echo",
          description: "Gives its input back",
          inputSchema: {},
          wasm: { component, tool: "echo" },
        },
        {
          name: "count",
          description: "Counts its calls",
          inputSchema: { type: "object", maxProperties: 0 },
          wasm: { component, tool: "count" },
        },
      ],
    });
  });

  test.each([
    ["describes nothing and traps", "unreachable", "failed: Tool trapped: unreachable"],
    ["describes without end", "(loop (br 0)) i32.const 8", "ended with timeout"],
    [
      "describes more tools than there is memory",
      "(i32.store (i32.const 8) (i32.const -1)) (i32.store (i32.const 12) (i32.const -1)) i32.const 8",
      "failed: Tool violated the component ABI",
    ],
  ])("the tools of a component cannot be read if it %s", async (_what, describeBody, reason) => {
    const component = await watComponent({ describe: describeBody });
    await expect(componentTools(component, sandboxes)).rejects.toThrow(`its 'describe' ${reason}`);
  });

  /** A component whose `describe` logs a text several times, and traps. */
  const logging = (text: string, times: number): Promise<Uint8Array> =>
    watComponent({
      memory: `(import "sandgate:tool/host@0.1.0" "log" (func $log (param i32 i32 i32)))
        (memory (export "memory") 1)`,
      fields: `(data (i32.const 4096) ${JSON.stringify(text)}) (global $left (mut i32) (i32.const ${times}))`,
      describe: `(loop
          (call $log (i32.const 3) (i32.const 4096) (i32.const ${text.length}))
          (global.set $left (i32.sub (global.get $left) (i32.const 1)))
          (br_if 0 (global.get $left)))
        unreachable`,
    });

  test("a failed 'describe' is reported with what it logged, so that its author sees the reason", async () => {
    await expect(componentTools(await logging("no catalogue: HTTP 500", 2), sandboxes)).rejects.toThrow(
      new ToolPreparationError(
        "its 'describe' failed: Tool trapped: unreachable; it logged: " +
          "no catalogue: HTTP 500 | no catalogue: HTTP 500",
      ),
    );
  });

  test("a failed 'describe' is reported with the end of a long log, without control characters", async () => {
    const problem: unknown = await componentTools(await logging("\t[2Jxyz", 1_000), sandboxes).catch(
      (error: unknown) => error,
    );
    expect(problem).toBeInstanceOf(ToolPreparationError);
    const { message } = problem as ToolPreparationError;
    expect(message.length).toBeLessThan(1_000);
    expect(message).toMatch(/it logged: .*\ufffd\[2Jxyz \| /);
    expect(message).not.toMatch(/\p{Cc}/u);
  });
});
