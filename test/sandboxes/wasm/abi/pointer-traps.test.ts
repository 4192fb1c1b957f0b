import { describe, expect, test } from "vitest";
import { instantiate } from "../../../fixtures/wasm/run-component.ts";

const PAGE = 65_536;
const NOT_ALIGNED = expect.objectContaining({ name: "AbiError", message: "a pointer is not aligned" });
const OUT_OF_BOUNDS = expect.objectContaining({
  name: "AbiError",
  message: "a value is out of the bounds of memory",
});

/** A component whose `run` passes a pointer to a host function with these parameters or this result, in WAT. */
function callingComponent(signature: string, coreType: string, core: string): string {
  return `(component
    (import "a:b/host@1.0.0" (instance $host (export "act" (func ${signature}))))
    (core module $shim (memory (export "memory") 1))
    (core instance $shim (instantiate $shim))
    (alias core export $shim "memory" (core memory $memory))
    (core func $act (canon lower (func $host "act") (memory $memory)))
    (core module $m
      (import "h" "memory" (memory 1))
      (import "h" "act" (func $act ${coreType}))
      (func (export "run") (param $at i32) ${core}))
    (core instance $i (instantiate $m (with "h" (instance
      (export "memory" (memory $memory)) (export "act" (func $act))))))
    (func (export "run") (param "at" u32) (canon lift (core func $i "run"))))`;
}

const MANY = Array.from({ length: 17 }, (_, index) => `(param "p${index}" u32)`).join(" ");
const WIDE = `(param "wide" u64) ${MANY}`;

describe("a pointer that a component passes to a function that it calls", () => {
  test.each([
    ["its parameters", callingComponent(MANY, "(param i32)", "(call $act (local.get $at))"), 4, 17 * 4],
    [
      "its parameters with 64 bits",
      callingComponent(WIDE, "(param i32)", "(call $act (local.get $at))"),
      8,
      80,
    ],
    [
      "its result",
      callingComponent("(result (tuple u8 u32))", "(param i32)", "(call $act (local.get $at))"),
      4,
      8,
    ],
    [
      "a list",
      callingComponent(
        '(param "l" (list u64))',
        "(param i32 i32)",
        "(call $act (local.get $at) (i32.const 3))",
      ),
      8,
      24,
    ],
    [
      "an empty list",
      callingComponent(
        '(param "l" (list u16))',
        "(param i32 i32)",
        "(call $act (local.get $at) (i32.const 0))",
      ),
      2,
      0,
    ],
    [
      "a list of bytes",
      callingComponent(
        '(param "l" (list u8))',
        "(param i32 i32)",
        "(call $act (local.get $at) (i32.const 3))",
      ),
      1,
      3,
    ],
    [
      "a string",
      callingComponent('(param "s" string)', "(param i32 i32)", "(call $act (local.get $at) (i32.const 3))"),
      1,
      3,
    ],
  ])("traps unless it is aligned and within the memory: a pointer to %s", async (_what, wat, alignment, size) => {
    const calls: unknown[][] = [];
    const host = {
      act: (...args: unknown[]) => {
        calls.push(args);
        return [1, 2];
      },
    };
    const call = async (at: number): Promise<void> => void (await instantiate(wat, host))("run", at);
    const last = PAGE - size;
    await call(0);
    await call(last - (last % alignment));
    expect(calls).toHaveLength(2);
    for (const at of [PAGE - size + alignment, PAGE + alignment, 2 ** 32 - alignment]) {
      await expect(call(at)).rejects.toThrow(OUT_OF_BOUNDS);
    }
    for (let at = 1; at < alignment; at++) await expect(call(at)).rejects.toThrow(NOT_ALIGNED);
  });

  test("traps if it points to a list or a string that is longer than the ABI allows", async () => {
    const length = "(i32.const 0x10000000)";
    const list = callingComponent(
      '(param "l" (list u8))',
      "(param i32 i32)",
      `(call $act (local.get 0) ${length})`,
    );
    const text = callingComponent(
      '(param "s" string)',
      "(param i32 i32)",
      `(call $act (local.get 0) ${length})`,
    );
    await expect(instantiate(list).then((run) => run("run", 0))).rejects.toThrow("a list is too long");
    await expect(instantiate(text).then((run) => run("run", 0))).rejects.toThrow("a string is too long");
  });
});

/** A component whose `run` returns a pointer to its result, and whose allocator returns what it is told. */
function returningComponent(result: string): string {
  return `(component
    (core module $m
      (memory (export "memory") 1)
      (global $next (mut i32) (i32.const 0))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (global.get $next))
      (func (export "aim") (param i32) (global.set $next (local.get 0)))
      (func (export "take") (param i32 i32))
      (func (export "run") (param i32) (result i32) (local.get 0)))
    (core instance $i (instantiate $m))
    (alias core export $i "memory" (core memory $memory))
    (func (export "aim") (param "at" u32) (canon lift (core func $i "aim")))
    (func (export "take") (param "list" (list u32))
      (canon lift (core func $i "take") (memory $memory) (realloc (func $i "realloc"))))
    (func (export "run") (param "at" u32) (result ${result}) (canon lift (core func $i "run") (memory $memory))))`;
}

describe("a pointer that a component returns", () => {
  test("traps unless it is aligned and within the memory", async () => {
    const wat = returningComponent("(tuple u32 u32)");
    const call = async (at: number): Promise<unknown> => (await instantiate(wat))("run", at);
    expect(await call(0)).toEqual([0, 0]);
    expect(await call(PAGE - 8)).toEqual([0, 0]);
    await expect(call(2)).rejects.toThrow(NOT_ALIGNED);
    await expect(call(PAGE - 4)).rejects.toThrow(OUT_OF_BOUNDS);
    await expect(call(2 ** 32 - 4)).rejects.toThrow(OUT_OF_BOUNDS);
  });

  test("traps unless it is aligned and within the memory, from its allocator", async () => {
    const call = async (at: number, length: number): Promise<void> => {
      const run = await instantiate(returningComponent("(tuple u32 u32)"));
      run("aim", at);
      run("take", Array(length).fill(1));
    };
    await call(PAGE - 8, 2);
    await call(PAGE, 0);
    for (const [at, length] of [
      [2, 1],
      [2, 0],
      [PAGE - 4, 2],
      [PAGE + 4, 0],
      [2 ** 32 - 4, 1],
    ] as const) {
      await expect(call(at, length)).rejects.toThrow("realloc returned an invalid pointer");
    }
  });
});
