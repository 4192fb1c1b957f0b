import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { wrap } from "../../../../examples/quickstart/wasm/build.ts";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
// Inside: validates hostile components by themselves, and closes the validator in the middle of one.
import { Component } from "../../../../src/sandboxes/wasm/component/component.ts";
import { Validator } from "../../../../src/sandboxes/wasm/component/loader.ts";
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

/** The beginning of a component with a lifted function that returns a number. */
const LIFTED = `(core module $m (func (export "f") (result i32) i32.const 0))
  (core instance $i (instantiate $m)) (func (export "f")`;

const NO_CORES = Promise.resolve([]);

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
  const component = new Component("digest", await readComponent(binary));
  await validator.validate(binary, component.interruptibleCores());
}

async function expectNextToWork(): Promise<void> {
  await expect(validate(contract)).resolves.toBeUndefined();
}

describe("validating", () => {
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

  test.each([
    [
      "a core function has another type",
      `(component ${LIFTED} (result string) (canon lift (core func $i "f"))))`,
    ],
    [
      "an import is missing",
      '(component (core module $m (import "a" "b" (func))) (core instance (instantiate $m)))',
    ],
    [
      "two exports have one name",
      `(component ${LIFTED} (result u32) (canon lift (core func $i "f"))) (export "F" (func 0)))`,
    ],
    [
      "a nested component is not valid",
      `(component (component ${LIFTED} (result string) (canon lift (core func $i "f")))))`,
    ],
  ])("refuses a component in which %s, and takes the next", async (_what, wat) => {
    const invalid = await parse(wat);
    const refused = validator.validate(invalid, NO_CORES).catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(ToolPreparationError);
    const [, position] =
      /^it is not valid: .+ \(at byte (\d+)\)$/.exec(String(((await refused) as Error).message)) ?? [];
    expect(Number(position)).toBeGreaterThan(8);
    expect(Number(position)).toBeLessThanOrEqual(invalid.length);
    await expectNextToWork();
  });

  test("refuses every component that is cut off, and survives one whose bytes are changed", async () => {
    const names = ["valid", "refused"];
    for (let at = 9; at < contract.length; at += Math.ceil(contract.length / 40)) {
      const changed = Uint8Array.from(contract);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      const verdict = await validator.validate(changed, NO_CORES).then(
        () => "valid",
        (error: unknown) => (error instanceof ToolPreparationError ? "refused" : String(error)),
      );
      expect(names).toContain(verdict);
      if (at < 64) continue;
      await expect(validator.validate(contract.subarray(0, at), NO_CORES)).rejects.toThrow(
        ToolPreparationError,
      );
    }
    await expectNextToWork();
  });

  test("ends what runs when it is closed", async () => {
    const closing = new Validator();
    // Awaited from the beginning: closing can take long enough for a rejection to count as unhandled.
    const ends = Promise.allSettled([1, 2, 3].map(() => closing.validate(contract, NO_CORES)));
    await closing.close();
    expect((await ends).map((end) => (end.status === "rejected" ? end.reason.message : end.status))).toEqual(
      Array(3).fill("the sandbox is closed"),
    );
  });
});
