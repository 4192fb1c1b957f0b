import { readFile } from "node:fs/promises";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import {
  BinaryReader,
  CORE_SECTION,
  changeSections,
  sectionBytes,
  u32Bytes,
} from "../../../../src/sandboxes/wasm/core-module/binary.ts";
// Inside: reads instructions one by one, also those that no compiler of the tests writes.
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { InstructionReader } from "../../../../src/sandboxes/wasm/core-module/instruction-reader.ts";
import { INSTRUCTION } from "../../../../src/sandboxes/wasm/core-module/instructions.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { outsideComponent } from "../../../fixtures/wasm/outside-component.ts";

/** Calls `read` for each function of a core module, with a reader behind its local variables. */
function eachFunction(
  binary: Uint8Array,
  read: (instructions: InstructionReader, body: Uint8Array) => void,
): void {
  const { code } = readCoreModule(binary);
  const reader = new BinaryReader(code ?? Uint8Array.of(0));
  reader.vector(() => {
    const body = reader.bytes(reader.u32());
    const instructions = new InstructionReader(body);
    instructions.locals();
    read(instructions, body);
  });
}

/** Puts a `nop` behind each instruction. If one ended elsewhere for V8, it would not compile. */
function withNops(binary: Uint8Array): Promise<Uint8Array> {
  const bodies: Uint8Array[] = [];
  eachFunction(binary, (instructions, body) => {
    const parts: Uint8Array[] = [body.subarray(0, instructions.at)];
    while (instructions.next()) {
      const isLast = instructions.at === body.length;
      parts.push(
        body.subarray(instructions.start, instructions.at),
        isLast ? Uint8Array.of() : Uint8Array.of(1),
      );
    }
    const content = Buffer.concat(parts);
    bodies.push(Buffer.concat([Uint8Array.from(u32Bytes(content.length)), content]));
  });
  const code = sectionBytes(CORE_SECTION.code, u32Bytes(bodies.length), Buffer.concat(bodies));
  return changeSections(binary, ({ id }) => (id === CORE_SECTION.code ? [code] : undefined), new Map());
}

const CONTEXT = `(memory 1) (memory 1) (table 1 funcref) (table 1 externref)
  (tag $tag) (type $t (func)) (type $pair (func (param i32 i32) (result i32 i32)))
  (global $g (mut i32) (i32.const 0)) (elem $e func) (data $d "x")`;

/** The instructions of one function, without the last `end`. */
async function read(instructions: string, locals = "i32 i64"): Promise<number[]> {
  const binary = await parse(
    `(module ${CONTEXT} (func $f (local ${locals}) ${instructions}) (elem declare func $f))`,
  );
  const all: number[][] = [];
  eachFunction(binary, (reader) => {
    const codes: number[] = [];
    while (reader.next()) codes.push(reader.code);
    all.push(codes);
  });
  expect(WebAssembly.validate((await withNops(binary)) as BufferSource)).toBe(true);
  return (all[0] ?? []).slice(0, -1);
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
    ["a block of a typed reference", "(block (result (ref null $t)) unreachable) drop", [2, 0, 11, 0x1a]],
    ["branches by table", "(block (block (br_table 0 1 2 (i32.const 300))))", [2, 2, 0x41, 0x0e, 11, 11]],
    ["calls", "call $f (call_indirect (type $t) (i32.const 0)) return_call $f", [0x10, 0x41, 0x11, 0x12]],
    [
      "calls by reference",
      "(call_ref $t (ref.func $f)) (return_call_ref $t (ref.func $f))",
      [0xd2, 0x14, 0xd2, 0x15],
    ],
    [
      "references",
      "(drop (ref.is_null (ref.func $f))) (drop (ref.null extern))",
      [0xd2, 0xd1, 0x1a, 0xd0, 0x1a],
    ],
    [
      "branches on references",
      "(block (br_on_null 0 (ref.null $t)) (drop)) (drop (ref.as_non_null (ref.null $t)))",
      [2, 0xd0, 0xd5, 0x1a, 11, 0xd0, 0xd4, 0x1a],
    ],
    [
      "casts",
      `(block (result i31ref) (br_on_cast 0 anyref i31ref (any.convert_extern (ref.null extern))) unreachable)
       (drop (i31.get_u (ref.cast (ref i31))))`,
      [2, 0xd0, 0xfb_001a, 0xfb_0018, 0, 11, 0xfb_0016, 0xfb_001e, 0x1a],
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
      "atomic operations",
      "(atomic.fence) (drop (i64.atomic.rmw8.cmpxchg_u offset=8 (i32.const 0) (i64.const 0) (i64.const 1)))",
      [0xfe_0003, 0x41, 0x42, 0x42, 0xfe_004c, 0x1a],
    ],
    [
      "bulk memory",
      "(memory.copy 0 1 (i32.const 0) (i32.const 0) (i32.const 0)) (data.drop $d)",
      [0x41, 0x41, 0x41, INSTRUCTION.memoryCopy, INSTRUCTION.dataDrop],
    ],
    [
      "exceptions",
      `(block $none (try_table (catch_all $none) (throw $tag)))
       (block $tagged (try_table (catch $tag $tagged)))
       (block $all (result exnref) (try_table (catch_all_ref $all) (catch_ref $tag $all)) unreachable) throw_ref`,
      [2, 0x1f, 0x08, 11, 11, 2, 0x1f, 11, 11, 2, 0x1f, 11, 0, 11, 0x0a],
    ],
    [
      "tables",
      "(table.set 1 (i32.const 0) (ref.null extern)) (elem.drop $e)",
      [0x41, 0xd0, INSTRUCTION.tableSet, INSTRUCTION.elementDrop],
    ],
  ])("finds where each ends: %s", async (_what, instructions, expected) => {
    expect(await read(instructions)).toEqual(expected);
  });

  test("passes local variables of every type, and counts them", async () => {
    const locals = "i32 i32 f64 v128 funcref (ref null $t) anyref i31ref exnref (ref null func) externref";
    expect(await read("nop", locals)).toEqual([1]);
    const binary = await parse(`(module (type $t (func)) (func (local ${locals})))`);
    const reader = new BinaryReader(readCoreModule(binary).code ?? Uint8Array.of());
    reader.u32();
    expect(new InstructionReader(reader.bytes(reader.u32())).locals()).toBe(11);
  });

  test("reads the code of real components to the end of every function", async () => {
    for (const path of [await contractComponent(), await outsideComponent()]) {
      let functions = 0;
      for (const module of (await readComponent(await readFile(path))).coreModules) {
        eachFunction(module, (reader, body) => {
          while (reader.next());
          expect([reader.code, reader.at]).toEqual([INSTRUCTION.end, body.length]);
          functions++;
        });
        expect(WebAssembly.validate((await withNops(module)) as BufferSource)).toBe(true);
      }
      expect(functions).toBeGreaterThan(20);
    }
  });

  test.each([
    ["a new stack", [0x01, 0xe0, 0x00], "at its byte 1, the instruction 'cont.new' (0xe0) is not supported"],
    ["a catch clause of an unknown form", [0x1f, 0x40, 1, 4, 0], "a catch clause has an unknown form"],
    ["an array", [0xfb, 0x10], "the instruction 'array.fill' (0xfb 0x10) is not supported"],
    ["a stack of its own", [0xe2], "the instruction 'suspend' (0xe2) is not supported"],
    ["wide arithmetic", [0xfc, 0x93, 0x00], "the instruction 'i64.add128' (0xfc 0x13) is not supported"],
    ["an unknown byte", [0x27], "the instruction 0x27 is not supported"],
    ["an unknown number behind a prefix", [0xfe, 0x4f], "the instruction 0xfe 0x4f is not supported"],
    ["an unknown vector operation", [0xfd, 0x94, 0x02], "the instruction 0xfd 0x114 is not supported"],
    ["a memory access of an unknown form", [0x28, 0x20, 0x00], "a memory access has an unknown form"],
    ["a shared type", [0xd0, 0x65, 0x70], "a type is not supported"],
    ["an integer that is too long", [0x41, ...Array(10).fill(0x80), 0], "an integer is too long"],
    ["an instruction that is cut off", [0x43, 0, 0], "an instruction is cut off"],
    ["an index that is cut off", [0x01, 0x10], "an instruction is cut off"],
    ["an integer that is cut off", [0x41, 0x80], "an instruction is cut off"],
  ])("refuses %s, and says where it is", (_what, bytes, reason) => {
    const reader = new InstructionReader(Uint8Array.from(bytes));
    expect(() => {
      while (reader.next());
    }).toThrow(reason);
  });

  test.each([
    [0, "00"],
    [63, "3f"],
    [64, "c000"],
    [1_024, "8008"],
    [0x7fff_ffff, "ffffffff07"],
    [0xffff_ffff, "7f"],
    [0xffff_ffff, "ffffffff7f"],
    [0x8000_0000, "8080808078"],
    [5, "8580808000"],
  ])("reads the constant %d from %s", (value, hex) => {
    const reader = new InstructionReader(Buffer.from(`41${hex}`, "hex"));
    reader.next();
    expect(reader.constantAt(0)).toBe(value);
    expect(reader.at).toBe(1 + hex.length / 2);
  });
});
