import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { wrap } from "../../../../examples/quickstart/wasm/build.ts";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
import { Validator } from "../../../../src/sandboxes/wasm/component/validator.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";

const contract = readFileSync(await contractComponent());
const validator = new Validator();
afterAll(() => validator.close());

const CORE = `(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "describe") (result i32) i32.const 0)
  (func (export "call") (param i32 i32 i32 i32 i32 i32 i32 i64) (result i32) i32.const 0)
  (func (export "more") (result i32) i32.const 0))`;

/** A compiler in one pass copies all that is on the stack at each branch. */
function compileBomb(size: number): string {
  const branch = "local.get 0 if i32.const 1 local.set 0 end ";
  return `(local i32) ${"i32.const 0 ".repeat(size)}${branch.repeat(size)}${"drop ".repeat(size - 1)}`;
}

async function expectNextToWork(): Promise<void> {
  await expect(validator.validate(contract)).resolves.toBeUndefined();
}

describe("validating", () => {
  test("ends a component of two kilobytes for which jco would write megabytes, and takes the next", async () => {
    const tuples = Array.from({ length: 6 }, (_, i) => `type t${i + 1} = tuple<${`t${i},`.repeat(8)}>;`);
    const wit = `interface bombs { type t0 = u32; ${tuples.join(" ")} }
      world bomb { use bombs.{t6}; export guest; export more: func() -> list<t6>; }`;
    const bomb = await wrap(await parse(CORE), { name: "bomb", wit });
    expect(bomb.length).toBeLessThan(4_096);
    await expect(validator.validate(bomb)).rejects.toThrow(/jco writes more than 8388608 bytes/);
    await expectNextToWork();
  });

  test.each([
    ["is told of", 4_000, /^compiling one of its functions takes more than 134217728 bytes/],
    ["ends", 30_000, /too much memory$/],
  ])("%s code that takes endlessly to compile", async (_what, size, reason) => {
    const bomb = await wrap(await parse(CORE.replace("i32.const 0))", `${compileBomb(size)}))`)), {
      name: "bomb",
      wit: "world bomb { export guest; export more: func() -> u32; }",
    });
    expect(bomb.length).toBeLessThan(600_000);
    await expect(validator.validate(bomb)).rejects.toThrow(reason);
    await expectNextToWork();
  });

  test("survives a component on which jco panics", async () => {
    const wat = '(component (import "url=<https://example.com>" (func $f)) (export "run" (func $f)))';
    await expect(validator.validate(await parse(wat))).rejects.toThrow(ToolPreparationError);
    await expectNextToWork();
  });

  test("says what jco has against an invalid component", async () => {
    const broken = Uint8Array.of(...(await parse("(component)")), 1, 8, 0, 0x61, 0x73, 0x6d, 9, 0, 0, 0);
    await expect(validator.validate(broken)).rejects.toThrow(/^jco refuses it: /);
  });

  test("ends what runs when it is closed", async () => {
    const closing = new Validator();
    const running = [closing.validate(contract), closing.validate(contract), closing.validate(contract)];
    closing.close();
    const ends = await Promise.allSettled(running);
    expect(ends.map((end) => (end.status === "rejected" ? end.reason.message : end.status))).toEqual(
      Array(3).fill("the sandbox is closed"),
    );
  });
});
