import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-trap-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true });
});

describe("the operator reads in which functions a component trapped, in both engines, and the model does not", () => {
  test.each([
    ["an instruction", "unreachable", "Tool trapped: unreachable", []],
    [
      "a bulk instruction that a helper runs",
      "(memory.fill (i32.const 0) (i32.const 0) (local.get 0))",
      "Tool trapped: memory access out of bounds",
      ["memory.fill"],
    ],
  ])("%s", async (_what, work, message, helpers) => {
    const fields = `(func $parse_row (param i32) ${work}) (func $parse_table (call $parse_row (i32.const 0x7fffffff)))`;
    const component = await watComponent({ fields, call: "call $parse_table i32.const 16" });
    const trusted = {
      implementations: { wasm: { component, tool: "any", engine: "jco" } },
      capabilities: { engine: "jco" },
    } as const;
    for (const task of [wasmTask(component, "any"), wasmTask(component, "any", {}, trusted)]) {
      const outcome = await sandbox.run(task);
      expect(outcome).toMatchObject({ status: "failed", message });
      const detail = String((outcome as { detail?: unknown }).detail);
      const named = [...helpers, "parse_row", "parse_table"];
      const places = named.map((name) => detail.indexOf(name));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      for (const name of named)
        expect((outcome as { message: string }).message.replace(message, "")).not.toContain(name);
    }
  });
});

describe("the model reads why the host ended a call of a component", () => {
  const RANDOM = `(import "wasi:random/random@0.2.0" (instance $random (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
    (core module $memory (memory (export "memory") 1) (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $memory (instantiate $memory))
    (core func $bytes (canon lower (func $random "get-random-bytes") (memory $memory "memory") (realloc (func $memory "realloc"))))
    (core module $m (import "host" "bytes" (func $bytes (param i64 i32)))
      (func (export "run") (result i32) (call $bytes (i64.const 4294967296) (i32.const 8)) (i32.const 1)))
    (core instance $i (instantiate $m (with "host" (instance (export "bytes" (func $bytes))))))
    (func (export "run") (result u32) (canon lift (core func $i "run")))`;

  test.each([
    [undefined],
    ["jco"],
  ] as const)("more random bytes than it gives (engine: %s)", async (engine) => {
    const component = await parse(`(component ${RANDOM})`);
    const wasm = { component, export: "run", ...(engine && { engine }) };
    const capabilities = { random: true, ...(engine && { engine }) };
    const task = wasmTask(component, "any", {}, { implementations: { wasm }, capabilities });
    expect(await sandbox.run(task)).toMatchObject({
      status: "failed",
      message:
        "Tool misused 'wasi:random/random': it asked for 4294967296 random bytes at once: at most 65536 are allowed",
    });
  });

  test("calls between components that jco does not allow", async () => {
    const component = await parse(`(component
      (component $c (core module $m (func (export "f") (param i32) (result i32) (local.get 0)))
        (core instance $i (instantiate $m))
        (func (export "f") (param "x" u32) (result u32) (canon lift (core func $i "f"))))
      (instance $j (instantiate $c))
      (core func $l (canon lower (func $j "f")))
      (core module $n (import "a" "f" (func $f (param i32) (result i32)))
        (func (export "run") (result i32) (call $f (i32.const 5))))
      (core instance $k (instantiate $n (with "a" (instance (export "f" (func $l))))))
      (func (export "run") (result u32) (canon lift (core func $k "run"))))`);
    const own = { wasm: { component, export: "run" } };
    expect(await sandbox.run(wasmTask(component, "any", {}, { implementations: own }))).toMatchObject({
      output: 5,
    });
    const jco = { wasm: { component, export: "run", engine: "jco" } } as const;
    const task = wasmTask(component, "any", {}, { implementations: jco, capabilities: { engine: "jco" } });
    expect(await sandbox.run(task)).toMatchObject({
      status: "failed",
      message: expect.stringMatching(
        /^Tool trapped in the engine 'jco': the canonical ABI, as jco implements it/,
      ),
      detail: expect.stringContaining("TypeError: Trap"),
    });
  });
});
