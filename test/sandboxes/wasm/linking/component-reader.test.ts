import { readFileSync } from "node:fs";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolPreparationError } from "../../../../src/sandboxes/contract/sandbox.ts";
// Inside: a property of 500 damaged components, without the gate and the validator around the reader.
import { Component } from "../../../../src/sandboxes/wasm/component/component.ts";
import { ComponentInstance } from "../../../../src/sandboxes/wasm/instance/instance.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";
import { functionText } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { roomyBudget } from "../../../fixtures/wasm/lift-budget.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";

async function exportsOf(wat: string): Promise<Record<string, string>> {
  const { plan } = await readComponent(await parse(wat));
  return Object.fromEntries(Array.from(plan.exports, ([name, { type }]) => [name, functionText(type)]));
}

async function run(wat: string, name: string, ...args: unknown[]): Promise<unknown> {
  const component = new Component("digest", await readComponent(await parse(wat)));
  const { artifact } = await component.withCap(1_048_576);
  const instance = new ComponentInstance(artifact, () => ({}), roomyBudget());
  const found = artifact.plan.exports.get(name);
  if (found === undefined) throw new Error("no such export");
  return instance.call(found, args as never);
}

/** Two nested components: one adds, the other calls it twice and owns one of its counters. */
const COMPOSED = `(component
  (component $counter
    (core module $dtor (global $last (export "last") (mut i32) (i32.const 0))
      (func (export "drop") (param i32) (global.set $last (local.get 0)))
      (func (export "get-last") (result i32) (global.get $last)))
    (core instance $d (instantiate $dtor))
    (type $r' (resource (rep i32) (dtor (func $d "drop"))))
    (core func $new (canon resource.new $r'))
    (core module $m (import "h" "new" (func $new (param i32) (result i32)))
      (func (export "make") (param i32) (result i32) (call $new (local.get 0)))
      (func (export "value") (param i32) (result i32) (local.get 0)))
    (core instance $i (instantiate $m (with "h" (instance (export "new" (func $new))))))
    (export $r "counter" (type $r'))
    (func (export "make") (param "n" u32) (result (own $r)) (canon lift (core func $i "make")))
    (func (export "value") (param "self" (borrow $r)) (result u32) (canon lift (core func $i "value")))
    (func (export "last") (result u32) (canon lift (core func $d "get-last"))))
  (component $user
    (import "counter" (type $r (sub resource)))
    (import "make" (func $make (param "n" u32) (result (own $r))))
    (import "value" (func $value (param "self" (borrow $r)) (result u32)))
    (import "last" (func $last (result u32)))
    (core func $make' (canon lower (func $make)))
    (core func $value' (canon lower (func $value)))
    (core func $last' (canon lower (func $last)))
    (core func $drop (canon resource.drop $r))
    (core module $m
      (import "h" "make" (func $make (param i32) (result i32)))
      (import "h" "value" (func $value (param i32) (result i32)))
      (import "h" "last" (func $last (result i32)))
      (import "h" "drop" (func $drop (param i32)))
      (func (export "run") (param i32) (result i32) (local $a i32) (local $b i32) (local $sum i32)
        (local.set $a (call $make (local.get 0)))
        (local.set $b (call $make (i32.const 100)))
        (local.set $sum (i32.add (call $value (local.get $a)) (call $value (local.get $b))))
        (call $drop (local.get $a))
        (i32.add (local.get $sum) (i32.mul (i32.const 1000) (call $last))))
      (func (export "twice") (param i32) (result i32) (local $a i32)
        (local.set $a (call $make (local.get 0)))
        (call $drop (local.get $a)) (call $drop (local.get $a)) i32.const 0))
    (core instance $i (instantiate $m (with "h" (instance
      (export "make" (func $make')) (export "value" (func $value'))
      (export "last" (func $last')) (export "drop" (func $drop))))))
    (func (export "run") (param "n" u32) (result u32) (canon lift (core func $i "run")))
    (func (export "twice") (param "n" u32) (result u32) (canon lift (core func $i "twice"))))
  (instance $c (instantiate $counter))
  (instance $u (instantiate $user
    (with "counter" (type $c "counter")) (with "make" (func $c "make"))
    (with "value" (func $c "value")) (with "last" (func $c "last"))))
  (export "run" (func $u "run"))
  (export "twice" (func $u "twice")))`;

describe("reading a component", () => {
  test("types are found through aliases, instances and nested components", async () => {
    const wat = `(component
      (type $pair (tuple u8 string))
      (component $inner
        (import "t" (type $t (eq $pair)))
        (core module $m (memory (export "memory") 1) (func (export "f") (param i32 i32 i32))
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 8))
        (core instance $i (instantiate $m))
        (alias core export $i "memory" (core memory $memory))
        (func $f (param "p" $t)
          (canon lift (core func $i "f") (memory $memory) (realloc (func $i "realloc"))))
        (export "f" (func $f)))
      (instance $a (instantiate $inner (with "t" (type $pair))))
      (alias export $a "f" (func $f))
      (export "direct" (func $f))
      (export "x:y/z@1.0.0" (instance $a)))`;
    expect(await exportsOf(wat)).toEqual({
      direct: "func(p: tuple<u8, string>)",
      "x:y/z@1.0.0#f": "func(p: tuple<u8, string>)",
    });
  });

  test("components that call each other and share resources are linked", async () => {
    expect(await run(COMPOSED, "run", 7)).toBe(7 + 100 + 1_000 * 7);
    await expect(run(COMPOSED, "twice", 7)).rejects.toThrow("it used a handle that does not exist");
  });

  test("any damaged component is refused with a reason, or can be read", async () => {
    const binaries = [readFileSync(await wasiComponent()), Buffer.from(await parse(COMPOSED))];
    const damage = fc.record({ which: fc.nat(1), at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(damage, async ({ which, at, byte, cut }) => {
        const binary = binaries[which] ?? Buffer.alloc(0);
        const damaged = Buffer.from(cut ? binary.subarray(0, at % binary.length) : binary);
        if (!cut) damaged[at % binary.length] = byte;
        try {
          await readComponent(damaged);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolPreparationError);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [
      "a type without end",
      Array.from({ length: 14 }, (_, i) => `(type $t${i + 1} (tuple $t${i} $t${i}))`).join(" "),
      "(type $t0 u32)",
      /more than 10000 parts/,
    ],
    [
      "types nested too deep",
      `${"(type (instance ".repeat(40)}${"))".repeat(40)}`,
      "",
      /nested deeper than 32/,
    ],
    [
      "components that make components without end",
      `${Array.from(
        { length: 7 },
        (_, i) => `(component $c${i + 1} (instance (instantiate $c${i})) (instance (instantiate $c${i})))`,
      ).join(" ")}(instance (instantiate $c7))`,
      "(component $c0)",
      /more than 64 component instances/,
    ],
    [
      "an asynchronous function",
      '(type (func async (param "a" u32))) (core func (canon task.cancel))',
      "",
      /built-in 'task.cancel'/,
    ],
  ])("a component with %s is refused", async (_what, wat, before, reason) => {
    await expect(exportsOf(`(component ${before} ${wat})`)).rejects.toThrow(reason);
  });
});
