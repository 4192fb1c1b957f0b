import { readFile } from "node:fs/promises";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import { BinaryReader } from "../../../../src/sandboxes/wasm/core-module/binary-reader.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { INSTRUCTION, readInstruction } from "../../../../src/sandboxes/wasm/core-module/instructions.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { outsideComponent } from "../../../fixtures/wasm/outside-component.ts";

/** The instructions of every function of a core module; `undefined` for one that is not known. */
function bodies(binary: Uint8Array): (number | undefined)[][] {
  const { code } = readCoreModule(binary);
  const reader = new BinaryReader(code ?? Uint8Array.of(0));
  const all: (number | undefined)[][] = [];
  reader.vector(() => {
    const body = new BinaryReader(reader.bytes(reader.u32()));
    body.vector(() => {
      body.u32();
      body.byte();
    });
    const read: (number | undefined)[] = [];
    do read.push(readInstruction(body));
    while (!body.isAtEnd && read.at(-1) !== undefined);
    all.push(read);
  });
  return all;
}

/** The instructions of one function, without the last `end`. */
async function read(instructions: string): Promise<(number | undefined)[]> {
  const [body = []] = bodies(
    await parse(`(module (memory 1) (memory 1) (table 1 funcref) (table 1 externref)
      (type $t (func)) (type $pair (func (param i32 i32) (result i32 i32)))
      (global $g (mut i32) (i32.const 0)) (elem $e func) (data $d "x")
      (func $f (local i32 i64) ${instructions}) (elem declare func $f))`),
  );
  return body.slice(0, -1);
}

describe("reading instructions", () => {
  test.each([
    [
      "numbers",
      "(drop (i32.const -2147483648)) (drop (i64.const -9223372036854775808))",
      [0x41, 0x1a, 0x42, 0x1a],
    ],
    ["fractions", "(drop (f32.const 11)) (drop (f64.const 11))", [0x43, 0x1a, 0x44, 0x1a]],
    [
      "memory",
      "(i32.store offset=70000 (i32.const 11) (i32.load8_u (i32.const 11)))",
      [0x41, 0x41, 0x2d, 0x36],
    ],
    ["a second memory", "(drop (i32.load 1 (memory.grow 1 (i32.const 1))))", [0x41, 0x40, 0x28, 0x1a]],
    [
      "blocks",
      "(block (loop (if (local.get 0) (then br 1) (else br 2))))",
      [2, 3, 0x20, 4, 12, 5, 12, 11, 11, 11],
    ],
    ["a block of several values", "(block (result i32 i32) unreachable) drop drop", [2, 0, 11, 0x1a, 0x1a]],
    ["branches by table", "(block (block (br_table 0 1 2 (i32.const 300))))", [2, 2, 0x41, 0x0e, 11, 11]],
    ["calls", "call $f (call_indirect (type $t) (i32.const 0)) return_call $f", [0x10, 0x41, 0x11, 0x12]],
    [
      "references",
      "(drop (ref.is_null (ref.func $f))) (drop (ref.null extern))",
      [0xd2, 0xd1, 0x1a, 0xd0, 0x1a],
    ],
    [
      "a choice of a type",
      "(drop (select (result i64) (i64.const 1) (i64.const 2) (i32.const 0)))",
      [0x42, 0x42, 0x41, 0x1c, 0x1a],
    ],
    ["truncation", "(drop (i32.trunc_sat_f32_u (f32.const 1)))", [0x43, 0xfc_0001, 0x1a]],
    [
      "vectors",
      "(drop (v128.const i64x2 1 11)) (drop (i8x16.extract_lane_s 3 (v128.load (i32.const 0))))",
      [0xfd_000c, 0x1a, 0x41, 0xfd_0000, 0xfd_0015, 0x1a],
    ],
    [
      "a lane of memory",
      "(drop (v128.load8_lane offset=9 11 (i32.const 0) (v128.const i64x2 0 0)))",
      [0x41, 0xfd_000c, 0xfd_0054, 0x1a],
    ],
    [
      "vectors with long codes",
      "(drop (i32x4.add (v128.const i64x2 0 0) (v128.const i64x2 0 0)))",
      [0xfd_000c, 0xfd_000c, 0xfd_00ae, 0x1a],
    ],
    [
      "bulk memory",
      "(memory.copy 0 1 (i32.const 0) (i32.const 0) (i32.const 0)) (data.drop $d)",
      [0x41, 0x41, 0x41, 0xfc_000a, INSTRUCTION.dataDrop],
    ],
    [
      "tables",
      "(table.set 1 (i32.const 0) (ref.null extern)) (elem.drop $e)",
      [0x41, 0xd0, INSTRUCTION.tableSet, INSTRUCTION.elementDrop],
    ],
  ])("finds where each ends: %s", async (_what, instructions, expected) => {
    expect(await read(instructions)).toEqual(expected);
  });

  test.each([
    ["exceptions", "(try_table (nop))"],
    ["atomic operations", "(atomic.fence)"],
    ["garbage-collected values", "(drop (ref.i31 (i32.const 1)))"],
    ["a block that gives a typed reference", "(block (result (ref null $t)) unreachable) drop"],
  ])("does not know %s", async (_what, instructions) => {
    const binary = await parse(`(module (type $t (func)) (func ${instructions}))`);
    expect(bodies(binary)[0]).toContain(undefined);
  });

  test("reads the code of real components to the end of every function", async () => {
    for (const path of [await contractComponent(), await outsideComponent()]) {
      let functions = 0;
      for (const module of readComponent(await readFile(path)).coreModules) {
        for (const body of bodies(module)) {
          expect(body).not.toContain(undefined);
          expect(body.at(-1)).toBe(INSTRUCTION.end);
          functions++;
        }
      }
      expect(functions).toBeGreaterThan(20);
    }
  });
});
