import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
// Inside: reads components without validating or running them, so that each bound is met alone.
import { Component } from "../../../../src/sandboxes/wasm/component/component.ts";
import { ComponentInstance } from "../../../../src/sandboxes/wasm/instance/instance.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";
import { roomyBudget } from "../../../fixtures/wasm/lift-budget.ts";

/** A component that instantiates a module with one page of memory some times. */
async function component(instantiations: number): Promise<Component> {
  const wat = `(component
    (core module $m (memory (export "memory") 1)
      (func (export "run") (result i32) (memory.grow (i32.const 100))))
    ${Array.from({ length: instantiations }, (_, i) => `(core instance $i${i} (instantiate $m))`).join("\n")}
    (func (export "run") (result s32) (canon lift (core func $i0 "run"))))`;
  return new Component("digest", await readComponent(await parse(wat)));
}

/** A function of 400 KB. */
const LARGE = `(func ${"nop ".repeat(400_000)})`;

describe("a component that instantiates a core module several times", () => {
  test("is counted with the memory of each instance", async () => {
    const three = await component(3);
    expect(three.initialBytes).toBe(3 * 65_536);
    const { artifact } = await three.withCap(9 * 65_536);
    expect(artifact.cores).toMatchObject([{ memories: [{ maxPages: 3, lowered: true }] }]);
    const instance = new ComponentInstance(artifact, () => ({}), roomyBudget());
    const run = artifact.plan.exports.get("run");
    expect(run && instance.call(run, [])).toBe(-1);
    expect(instance.memoryBytes).toBe(3 * 65_536);
  });

  test("is refused when it makes too many", async () => {
    await expect(component(64)).rejects.toThrow(/too many memories/);
    await expect(component(65)).rejects.toThrow(/more than 64 core instances/);
  });
});

describe("whether the instances of a component can be restored", () => {
  const WRITES_TABLE = "(table 1 funcref) (func (table.set 0 (i32.const 0) (ref.null func)))";

  test.each([
    [
      "depends on the modules that it instantiates",
      `(core module $m ${WRITES_TABLE}) (core instance (instantiate $m))`,
      false,
    ],
    [
      "depends on no other",
      `(core module $m ${WRITES_TABLE}) (core module $n (func)) (core instance (instantiate $n))`,
      true,
    ],
    [
      "is not asked where a memory is large",
      "(core module $m (memory 65)) (core instance (instantiate $m))",
      false,
    ],
    [
      "is not asked where the code of all modules together is long",
      `(core module $m ${LARGE} ${LARGE}) (core module $n ${LARGE})
       (core instance (instantiate $m)) (core instance (instantiate $n))`,
      false,
    ],
  ])("%s", async (_what, wat, expected) => {
    const read = new Component("digest", await readComponent(await parse(`(component ${wat})`)));
    expect((await read.withCap(2 ** 24)).artifact.isRestorable).toBe(expected);
  });
});

describe("a component that takes long to put together", () => {
  const elements = `(elem (i32.const 0) func ${"$f ".repeat(1_000)})`;
  const withElements = (segments: number, instances: number): string => `(component
    (core module $m (table 1000 funcref) (func $f) ${elements.repeat(segments)})
    ${"(core instance (instantiate $m))".repeat(instances)})`;

  test("is refused when its instances evaluate too much", async () => {
    const make = async (wat: string): Promise<Component> =>
      new Component("digest", await readComponent(await parse(wat)));
    await expect(make(withElements(20, 40))).resolves.toBeInstanceOf(Component);
    await expect(make(withElements(40, 40))).rejects.toThrow(/evaluate more than 1048576 bytes/);
    const offset = `(i32.add ${"(i32.add (i32.const 0) ".repeat(500)} (i32.const 0) ${")".repeat(500)} (i32.const 0))`;
    const data = `(component (core module $m (memory 1) ${`(data (offset ${offset}) "a")`.repeat(40)})
      ${"(core instance (instantiate $m))".repeat(20)})`;
    await expect(make(data)).rejects.toThrow(/evaluate more than 1048576 bytes/);
  });

  test("is refused when it has one interface of many functions under many names", async () => {
    const functions = Array.from({ length: 300 }, (_, i) => `(export "f${i}" (func $f))`).join(" ");
    const make = async (names: number): Promise<unknown> =>
      await readComponent(
        await parse(`(component
          (core module $m (func (export "f"))) (core instance $i (instantiate $m))
          (func $f (canon lift (core func $i "f")))
          (component $c (import "f" (func $f)) ${functions})
          (instance $many (instantiate $c (with "f" (func $f))))
          ${Array.from({ length: names }, (_, i) => `(export "a:b/c${i}" (instance $many))`).join(" ")})`),
      );
    await expect(make(3)).resolves.toBeDefined();
    await expect(make(200)).rejects.toThrow(/more than \d+ functions/);
  });

  test("is refused when it is read too often", async () => {
    const types = "(type (tuple u8 u8 u8 u8 u8))".repeat(2_000);
    const make = async (instances: number): Promise<unknown> =>
      await readComponent(
        await parse(`(component (component $c ${types}) ${"(instance (instantiate $c))".repeat(instances)})`),
      );
    await expect(make(2)).resolves.toBeDefined();
    await expect(make(63)).rejects.toThrow(/more than 524288 bytes of definitions/);
  });
});

test("a component is compiled once for each cap", async () => {
  const once = await component(1);
  const [first, same, other] = await Promise.all([
    once.withCap(2 * 65_536),
    once.withCap(2 * 65_536 + 1),
    once.withCap(3 * 65_536),
  ]);
  expect(first).toBe(same);
  expect(first.key).not.toBe(other.key);
});
