import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { wrap } from "../../../examples/quickstart/wasm/build.ts";
import { ToolPreparationError } from "../../../src/sandboxes/sandbox.ts";
import { decodeTranspiled, encodeTranspiled } from "../../../src/sandboxes/wasm/transpiled.ts";
import { Transpiler } from "../../../src/sandboxes/wasm/transpiler.ts";
import { contractComponent } from "../../fixtures/wasm/contract-component.ts";

const contract = readFileSync(await contractComponent());
const transpiler = new Transpiler();
afterAll(() => transpiler.close());

const CORE = `(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "call") (param i32 i32 i32 i32 i32 i32 i32 i64) (result i32) i32.const 0)
  (func (export "more") (result i32) i32.const 0))`;

async function expectNextToWork(): Promise<void> {
  const { source, cores } = decodeTranspiled(await transpiler.transpile(contract));
  expect(source).toContain("function instantiate(");
  expect(source).not.toMatch(/^(import|export) /m);
  expect(cores.map(({ name }) => name)).toEqual(["component.core.wasm"]);
}

describe("transpiling", () => {
  test("ends a component of two kilobytes for which jco would write megabytes, and takes the next", async () => {
    const tuples = Array.from({ length: 6 }, (_, i) => `type t${i + 1} = tuple<${`t${i},`.repeat(8)}>;`);
    const wit = `interface bombs { type t0 = u32; ${tuples.join(" ")} }
      world bomb { use bombs.{t6}; export guest; export more: func() -> list<t6>; }`;
    const bomb = await wrap(await parse(CORE), { name: "bomb", wit });
    expect(bomb.length).toBeLessThan(4_096);
    await expect(transpiler.transpile(bomb)).rejects.toThrow(/jco writes more than 8388608 bytes/);
    await expectNextToWork();
  });

  test("survives a component on which jco panics", async () => {
    const wat = '(component (import "url=<https://example.com>" (func $f)) (export "run" (func $f)))';
    await expect(transpiler.transpile(await parse(wat))).rejects.toThrow(ToolPreparationError);
    await expectNextToWork();
  });

  test("says what jco has against an invalid component", async () => {
    const broken = Uint8Array.of(...(await parse("(component)")), 1, 8, 0, 0x61, 0x73, 0x6d, 9, 0, 0, 0);
    await expect(transpiler.transpile(broken)).rejects.toThrow(/^jco refuses it: /);
  });

  test("refuses a 'call' of another type", async () => {
    const other = await parse(`(component
      (core module $m (func (export "call")))
      (core instance $i (instantiate $m))
      (func $call (canon lift (core func $i "call")))
      (instance $guest (export "call" (func $call)))
      (export "sandgate:tool/guest@0.1.0" (instance $guest)))`);
    await expect(transpiler.transpile(other)).rejects.toThrow(/the 'call' that it exports has another type/);
  });

  test("ends what runs when it is closed", async () => {
    const closing = new Transpiler();
    const running = [closing.transpile(contract), closing.transpile(contract), closing.transpile(contract)];
    closing.close();
    const ends = await Promise.allSettled(running);
    expect(ends.map((end) => (end.status === "rejected" ? end.reason.message : end.status))).toEqual(
      Array(3).fill("the sandbox is closed"),
    );
  });
});

test("a transpiled component survives being written as bytes, and a cut-off one is noticed", () => {
  const transpiled = {
    source: "return 'ä';",
    cores: [
      { name: "a.wasm", binary: Buffer.from([1, 2]) },
      { name: "b.wasm", binary: Buffer.from([]) },
    ],
  };
  const encoded = encodeTranspiled(transpiled);
  expect(decodeTranspiled(encoded)).toEqual(transpiled);
  expect(() => decodeTranspiled(encoded.subarray(0, -1))).toThrow(ToolPreparationError);
});
