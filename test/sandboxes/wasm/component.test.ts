import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import { Component } from "../../../src/sandboxes/wasm/component.ts";
import { ComponentInstance } from "../../../src/sandboxes/wasm/instance.ts";
import { LiftBudget } from "../../../src/sandboxes/wasm/lift-budget.ts";
import { readComponent } from "../../../src/sandboxes/wasm/linking/component-reader.ts";

/** A component that instantiates a module with one page of memory some times. */
async function component(instantiations: number): Promise<Component> {
  const wat = `(component
    (core module $m (memory (export "memory") 1)
      (func (export "run") (result i32) (memory.grow (i32.const 100))))
    ${Array.from({ length: instantiations }, (_, i) => `(core instance $i${i} (instantiate $m))`).join("\n")}
    (func (export "run") (result s32) (canon lift (core func $i0 "run"))))`;
  return new Component("digest", readComponent(await parse(wat)));
}

describe("a component that instantiates a core module several times", () => {
  test("is counted with the memory of each instance", async () => {
    const three = await component(3);
    expect(three.initialBytes).toBe(3 * 65_536);
    const { artifact } = await three.withCap(9 * 65_536);
    expect(artifact.cores).toMatchObject([{ memories: [{ maxPages: 3, lowered: true }] }]);
    const instance = new ComponentInstance(artifact, () => ({}), new LiftBudget(100));
    const run = artifact.plan.exports.get("run");
    expect(run && instance.call(run, [])).toBe(-1);
    expect(instance.memoryBytes).toBe(3 * 65_536);
  });

  test("is refused when it makes too many", async () => {
    await expect(component(64)).rejects.toThrow(/too many memories/);
    await expect(component(65)).rejects.toThrow(/more than 64 core instances/);
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
