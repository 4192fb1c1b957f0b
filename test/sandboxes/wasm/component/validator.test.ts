import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { wrap } from "../../../../examples/quickstart/wasm/build.ts";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
import { Component } from "../../../../src/sandboxes/wasm/component/component.ts";
import { Validator } from "../../../../src/sandboxes/wasm/component/validator.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";
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

/** Calls on a deep stack: at each, the compiler looks at all that is on it. */
function deepCalls(size: number): string {
  return `${"i32.const 0 ".repeat(size)}${"(call_indirect (i32.const 0)) ".repeat(size)}${"drop ".repeat(size - 1)}`;
}

/** A component whose function takes long to compile. */
async function slowComponent(instructions: string): Promise<Uint8Array> {
  const more = '(func (export "more") (result i32)';
  const core = CORE.replace(`${more} i32.const 0)`, `(table 1 funcref) ${more} ${instructions})`);
  return wrap(await parse(core), {
    name: "slow",
    wit: "world slow { export guest; export more: func() -> u32; }",
  });
}

/** Validates a component as the loader does. */
async function validate(binary: Uint8Array): Promise<void> {
  const component = new Component("digest", readComponent(binary));
  await validator.validate(binary, await component.interruptibleCores());
}

async function expectNextToWork(): Promise<void> {
  await expect(validate(contract)).resolves.toBeUndefined();
}

describe("validating", () => {
  test("ends a component of two kilobytes for which jco would write megabytes, and takes the next", async () => {
    const tuples = Array.from({ length: 6 }, (_, i) => `type t${i + 1} = tuple<${`t${i},`.repeat(8)}>;`);
    const wit = `interface bombs { type t0 = u32; ${tuples.join(" ")} }
      world bomb { use bombs.{t6}; export guest; export more: func() -> list<t6>; }`;
    const bomb = await wrap(await parse(CORE), { name: "bomb", wit });
    expect(bomb.length).toBeLessThan(4_096);
    await expect(validator.validate(bomb, [])).rejects.toThrow(/jco generates more than 8388608 bytes/);
    await expectNextToWork();
  });

  test.each([
    [
      "refuses a function that takes much memory to compile",
      compileBomb(4_000),
      /^compiling one of its functions takes more than 134217728 bytes/,
    ],
    ["ends code that takes endlessly to compile", compileBomb(30_000), /too much memory$/],
    [
      "refuses a function that takes long to compile",
      deepCalls(30_000),
      /^compiling one of its functions takes more than 200 ms of CPU time/,
    ],
  ])("%s", async (_what, instructions, reason) => {
    const bomb = await slowComponent(instructions);
    expect(bomb.length).toBeLessThan(600_000);
    await expect(validate(bomb)).rejects.toThrow(reason);
    await expectNextToWork();
  });

  test("survives a component on which jco panics", async () => {
    const wat = '(component (import "url=<https://example.com>" (func $f)) (export "run" (func $f)))';
    await expect(validator.validate(await parse(wat), [])).rejects.toThrow(ToolPreparationError);
    await expectNextToWork();
  });

  test("says what jco has against an invalid component", async () => {
    const broken = Uint8Array.of(...(await parse("(component)")), 1, 8, 0, 0x61, 0x73, 0x6d, 9, 0, 0, 0);
    await expect(validator.validate(broken, [])).rejects.toThrow(/^jco rejects it: /);
  });

  test("ends what runs when it is closed", async () => {
    const closing = new Validator();
    const running = [1, 2, 3].map(() => closing.validate(contract, []));
    closing.close();
    const ends = await Promise.allSettled(running);
    expect(ends.map((end) => (end.status === "rejected" ? end.reason.message : end.status))).toEqual(
      Array(3).fill("the sandbox is closed"),
    );
  });
});
