import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
// Inside: whether a function is expensive decides only how it is compiled, which no call shows.
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { makeInterruptible } from "../../../../src/sandboxes/wasm/interruptible/interruptible.ts";

/** Whether V8 has to show how long it takes to compile a function of a module. */
async function isSlow(body: string, fields = ""): Promise<boolean> {
  const wat = `(module (type $pair (func (param i32 i32) (result i32))) (memory 1) (table 1 funcref) ${fields}
    (func (result i32) ${body}))`;
  const binary = await parse(wat);
  return (await makeInterruptible(binary, readCoreModule(binary))).isSlow;
}

const PAIRS = "i32.const 1 i32.const 2 ";

describe("a function that is cheap to compile", () => {
  test.each([
    ["many calls, whose arguments leave the stack", `${`${PAIRS}call $own drop `.repeat(5_000)} i32.const 0`],
    [
      "many indirect calls",
      `${`${PAIRS}i32.const 0 call_indirect (type $pair) drop `.repeat(5_000)} i32.const 0`,
    ],
    ["many blocks with results", `${"block (result i32) i32.const 1 end drop ".repeat(5_000)} i32.const 0`],
    [
      "many blocks that take values",
      `${`${PAIRS}block (type $pair) i32.add end drop `.repeat(500)} i32.const 0`,
    ],
    ["branches out of code with values", `${`block ${PAIRS}br 0 end `.repeat(5_000)} i32.const 0`],
    ["code that cannot be reached", `${"block unreachable i32.add drop end ".repeat(5_000)} i32.const 0`],
    [
      "both arms of conditions",
      `${"i32.const 1 if (result i32) i32.const 1 else i32.const 2 end drop ".repeat(3_000)} i32.const 0`,
    ],
    ["memory and arithmetic", `${"i32.const 8 i32.const 8 i32.load i32.store ".repeat(10_000)} i32.const 0`],
    ["vectors", `${"v128.const i64x2 1 2 v128.const i64x2 1 2 i64x2.add drop ".repeat(3_000)} i32.const 0`],
  ])("is not compiled for show: %s", async (_what, body) => {
    const own = "(func $own (type $pair) (i32.add (local.get 0) (local.get 1)))";
    expect(await isSlow(body, own)).toBe(false);
  });
});

describe("a function that may be expensive", () => {
  const deep = (work: string, size: number, height: number): string =>
    `(local i32) ${"i32.const 0 ".repeat(height)}${work.repeat(size)}${"drop ".repeat(height - 1)}`;

  test.each([
    ["branches below many values", deep("local.get 0 if i32.const 1 local.set 0 end ", 2_000, 2_000)],
    ["indirect calls below many values", deep("(call_indirect (i32.const 0)) ", 2_000, 2_000)],
    ["loops below many values", deep("loop local.get 0 br_if 0 end ", 1_000, 2_000)],
    ["arithmetic below many values", deep("local.get 0 local.get 0 i32.div_s local.set 0 ", 6_000, 6_000)],
    ["growing the memory below many values", deep("memory.grow ", 2_000, 2_000)],
    [
      "branches to many labels below many values",
      deep(`block local.get 0 br_table ${"0 ".repeat(2_000)} end `, 2, 2_000),
    ],
    [
      "branches beside many variables",
      `(local ${"i32 ".repeat(2_000)}) ${"block local.get 0 br_if 0 end ".repeat(1_000)} i32.const 0`,
    ],
    ["results of calls that stay", `${"call $two ".repeat(2_000)} ${"drop ".repeat(3_999)}`],
    [
      "results of blocks that stay",
      `${"block (result i32 i32) call $two end ".repeat(1_500)} ${"drop ".repeat(2_999)}`,
    ],
    ["much code", `${"i32.const 300000 drop ".repeat(60_000)} i32.const 0`],
  ])("is compiled for show: %s", async (_what, body) => {
    expect(await isSlow(body, "(func $two (result i32 i32) i32.const 1 i32.const 2)")).toBe(true);
  });
});
