import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
import { passComponentGate } from "../../../../src/sandboxes/wasm/component/gate.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";

const HOSTILE = "x'];globalThis.PWNED=1;//";
const contract = readFileSync(await contractComponent());

async function gate(wat: string): Promise<readonly string[]> {
  return passComponentGate(await parse(wat));
}

describe("the component gate", () => {
  test("passes a component of the world and tells which WASI it imports", async () => {
    expect(passComponentGate(contract)).toEqual(["sandgate:tool/host", "sandgate:tool/types"]);
    expect(passComponentGate(readFileSync(await wasiComponent()))).toEqual(
      expect.arrayContaining(["wasi:cli/environment", "wasi:clocks/monotonic-clock", "wasi:http/types"]),
    );
  });

  test("refuses a core export whose name would run as JavaScript, and passes one that would not", async () => {
    const hostile = await watComponent({ fields: `(func (export "${HOSTILE}"))` });
    expect(() => passComponentGate(hostile)).toThrow(/has the name "x'\];globalThis\.PWNED=1;\/\/"/);
    const harmless = await watComponent({ fields: '(func (export "x/globalThis.PWNED=1"))' });
    expect(passComponentGate(harmless)).toEqual(["sandgate:tool/types"]);
  });

  test.each(["sandgate:memory:0", "sandgate:global:7"])("refuses an export named %s", async (name) => {
    const wat = `(component (core module (func (export "${name}"))))`;
    await expect(gate(wat)).rejects.toThrow(/such names are Sandgate's own/);
  });

  test.each([
    ["a core import's namespace", `(core module (import "${HOSTILE}" "a" (func)))`],
    ["a core import's field", `(core module (import "a" "${HOSTILE}" (func)))`],
    ["an export of a core instance", `(core instance (export "${HOSTILE}" (memory $i "m")))`],
    [
      "an argument of a core instance",
      `(core instance (instantiate $other (with "${HOSTILE}" (instance $i))))`,
    ],
    ["a core module inside a component inside", `(component (core module (func (export "${HOSTILE}"))))`],
    ["a line separator", '(core module (func (export "a\\e2\\80\\a8b")))'],
    ["a backslash", '(core module (func (export "a\\\\b")))'],
  ])("refuses an unsafe name: %s", async (_place, hostile) => {
    const wat = (field: string): string => `(component
      (core module $m (memory (export "m") 1)) (core instance $i (instantiate $m))
      (core module $other) ${field})`;
    await expect(gate(wat(hostile))).rejects.toThrow(/a core module has the name/);
    await expect(gate(wat(hostile.replace(HOSTILE, "x").replaceAll(/\\[\da-f\\]+/g, "")))).resolves.toEqual(
      [],
    );
  });

  test.each([
    ["an unknown interface", '(import "evil:host/all@1.0.0" (instance))', /'evil:host\/all@1\.0\.0'/],
    ["another WASI", '(import "wasi:cli/environment@0.3.0" (instance))', /'wasi:cli\/environment@0\.3\.0'/],
    ["a WASI without version", '(import "wasi:cli/environment" (instance))', /'wasi:cli\/environment'/],
    ["a bare function", '(import "run" (func))', /'run', which is not an interface/],
    ["a core module", '(import "wasi:cli/exit@0.2.0" (core module))', /is not an interface/],
    ["a resource type", '(import "r" (type (sub resource)))', /'r', which is not an interface/],
  ])("refuses a component that imports %s", async (_what, wat, reason) => {
    const exported = '(instance $i) (export "sandgate:tool/guest@0.1.0" (instance $i))';
    await expect(gate(`(component ${wat} ${exported})`)).rejects.toThrow(reason);
    await expect(gate(`(component ${exported})`)).resolves.toEqual([]);
  });

  test.each([
    ["garbage-collected types", "(type (struct (field i32)))", /garbage-collected/],
    ["shared memory", "(memory 1 2 shared)", /shared or 64-bit/],
    ["64-bit memory", "(memory i64 1)", /shared or 64-bit/],
  ])("refuses %s, which no limit would hold", async (_what, field, reason) => {
    await expect(gate(`(component (core module ${field}))`)).rejects.toThrow(reason);
  });

  test.each([
    ["core modules", "(core module)".repeat(65)],
    ["components", "(component)".repeat(128)],
    ["levels of components", "(component ".repeat(8) + ")".repeat(8)],
  ])("refuses too many %s", async (what, fields) => {
    await expect(gate(`(component ${fields})`)).rejects.toThrow(`too many ${what}`);
  });

  test("tells a core module from a component, and both from anything else", async () => {
    await expect(gate("(module)")).rejects.toThrow(/core module, not a component/);
    expect(() => passComponentGate(Buffer.from("#!/bin/sh"))).toThrow("it is not a WebAssembly component");
    expect(() => passComponentGate(new Uint8Array())).toThrow("it is not a WebAssembly component");
  });

  test("answers any damaged component with a reason, or passes it on", () => {
    const damage = fc.record({ at: fc.nat(contract.length - 1), byte: fc.nat(255), cut: fc.boolean() });
    fc.assert(
      fc.property(damage, ({ at, byte, cut }) => {
        const damaged = Buffer.from(cut ? contract.subarray(0, at) : contract);
        if (!cut) damaged[at] = byte;
        try {
          passComponentGate(damaged);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolPreparationError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
