import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import { Component } from "../../../src/sandboxes/wasm/component.ts";
import { ComponentInstance, loadComponent } from "../../../src/sandboxes/wasm/instance.ts";
import type { TranspiledComponent } from "../../../src/sandboxes/wasm/transpiled.ts";

/** What jco would write for a component that instantiates a module with one page of memory some times. */
async function transpiled(instantiations: number, atRunTime = instantiations): Promise<TranspiledComponent> {
  const once = "instantiateCore(module0);";
  return {
    source: `
      function instantiate(getCoreModule, imports, instantiateCore) {
        const module0 = getCoreModule('component.core.wasm');
        ${once.repeat(instantiations)}
        for (let more = ${atRunTime - instantiations}, make = instantiateCore; more > 0; more--) make(module0);
        return { "sandgate:tool/guest@0.1.0": { call: () => "null" } };
      }
      return instantiate;`,
    cores: [{ name: "component.core.wasm", binary: await parse("(module (memory 1))") }],
  };
}

async function run(component: Component, capBytes: number): Promise<number> {
  const { artifact } = await component.withCap(capBytes);
  const instance = new ComponentInstance(loadComponent(artifact));
  instance.call({}, "tool", "null", { callId: "", wallTimeMs: undefined });
  return instance.memoryBytes;
}

describe("a component that instantiates a core module several times", () => {
  test("is counted with the memory of each instance", async () => {
    const component = new Component("digest", [], await transpiled(3));
    expect(component.initialBytes).toBe(3 * 65_536);
    const { artifact } = await component.withCap(9 * 65_536);
    expect(artifact.cores[0]).toMatchObject({ instances: 3, memories: [{ maxPages: 3, lowered: true }] });
    expect(await run(component, 9 * 65_536)).toBe(3 * 65_536);
  });

  test("cannot make more instances than were counted", async () => {
    const component = new Component("digest", [], await transpiled(2, 3));
    await expect(run(component, 9 * 65_536)).rejects.toThrow("more core instances than declared");
  });

  test("is refused when it makes too many", async () => {
    const many = await transpiled(65);
    expect(() => new Component("digest", [], many)).toThrow(/more than 64 core instances/);
  });
});

test("a component is compiled once for each cap", async () => {
  const component = new Component("digest", [], await transpiled(1));
  const [first, same, other] = await Promise.all([
    component.withCap(2 * 65_536),
    component.withCap(2 * 65_536 + 1),
    component.withCap(3 * 65_536),
  ]);
  expect(first).toBe(same);
  expect(first.key).not.toBe(other.key);
});
