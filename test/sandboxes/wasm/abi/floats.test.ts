import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: converts numbers at the edge of f32, without a component for each.
import type { ComponentValue } from "../../../../src/sandboxes/wasm/abi/value.ts";
import { callExport } from "../../../../src/sandboxes/wasm/exports/call-export.ts";
import { ArgumentError, argumentsFromJson } from "../../../../src/sandboxes/wasm/exports/json.ts";
import type { FunctionType, ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { instantiate } from "../../../fixtures/wasm/run-component.ts";

/** Functions that return the bits of a float, and floats of given bits, directly and through memory. */
const BITS = `(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 64)
    (func (export "bits32") (param f32) (result i32) (i32.reinterpret_f32 (local.get 0)))
    (func (export "bits64") (param f64) (result i64) (i64.reinterpret_f64 (local.get 0)))
    (func (export "case32") (param i32 i64) (result i32) (i32.wrap_i64 (local.get 1)))
    (func (export "case64") (param i32 i64) (result i64) (local.get 1))
    (func (export "list32") (param i32 i32) (result i32) (i32.load (local.get 0)))
    (func (export "list64") (param i32 i32) (result i64) (i64.load (local.get 0)))
    (func (export "float32") (param i32) (result f32) (f32.reinterpret_i32 (local.get 0)))
    (func (export "float64") (param i64) (result f64) (f64.reinterpret_i64 (local.get 0)))
    (func (export "floats32") (param i32) (result i32)
      (i32.store (i32.const 16) (i32.const 24)) (i32.store (i32.const 20) (i32.const 1))
      (i32.store (i32.const 24) (local.get 0)) i32.const 16)
    (func (export "floats64") (param i64) (result i32)
      (i32.store (i32.const 16) (i32.const 24)) (i32.store (i32.const 20) (i32.const 1))
      (i64.store (i32.const 24) (local.get 0)) i32.const 16))
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (type $case' (variant (case "whole" u64) (case "single" f32) (case "double" f64)))
  (export $case "case" (type $case'))
  (func (export "bits32") (param "f" f32) (result u32) (canon lift (core func $i "bits32")))
  (func (export "bits64") (param "f" f64) (result u64) (canon lift (core func $i "bits64")))
  (func (export "case32") (param "f" $case) (result u32) (canon lift (core func $i "case32")))
  (func (export "case64") (param "f" $case) (result u64) (canon lift (core func $i "case64")))
  (func (export "list32") (param "f" (list f32)) (result u32)
    (canon lift (core func $i "list32") (memory $memory) (realloc (func $i "realloc"))))
  (func (export "list64") (param "f" (list f64)) (result u64)
    (canon lift (core func $i "list64") (memory $memory) (realloc (func $i "realloc"))))
  (func (export "float32") (param "b" u32) (result f32) (canon lift (core func $i "float32")))
  (func (export "float64") (param "b" u64) (result f64) (canon lift (core func $i "float64")))
  (func (export "floats32") (param "b" u32) (result (list f32))
    (canon lift (core func $i "floats32") (memory $memory)))
  (func (export "floats64") (param "b" u64) (result (list f64))
    (canon lift (core func $i "floats64") (memory $memory))))`;

const call = await instantiate(BITS);
const view = new DataView(new ArrayBuffer(8));

/** The bits that IEEE 754 gives a number, with the canonical NaN. */
function bits32(value: number): number {
  view.setFloat32(0, value);
  return Number.isNaN(value) ? 0x7fc0_0000 : view.getUint32(0);
}
function bits64(value: number): bigint {
  view.setFloat64(0, value);
  return Number.isNaN(value) ? 0x7ff8_0000_0000_0000n : view.getBigUint64(0);
}

const anyFloat = fc.oneof(fc.double(), fc.constantFrom(-0, 0, Number.NaN, 1e-45, 3.4028234663852886e38));

describe("floats", () => {
  test("any f32 and f64 has the same bits in a component, with the canonical NaN", () => {
    fc.assert(
      fc.property(anyFloat, (value) => {
        const single = Math.fround(value);
        expect(call("bits32", single)).toBe(bits32(single));
        expect(call("list32", [single])).toBe(bits32(single));
        expect(call("case32", { tag: "single", val: single })).toBe(bits32(single));
        expect(call("bits64", value)).toBe(bits64(value));
        expect(call("list64", [value])).toBe(bits64(value));
        expect(call("case64", { tag: "double", val: value })).toBe(bits64(value));
      }),
    );
  });

  test("any bits that a component returns are the float that they stand for", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (bits) => {
        view.setBigUint64(0, bits);
        const [single, double] = [view.getFloat32(4), view.getFloat64(0)];
        const low = view.getUint32(4);
        expect([call("float32", low), call("floats32", low)]).toEqual([single, [single]]);
        expect([call("float64", bits), call("floats64", bits)]).toEqual([double, [double]]);
      }),
    );
  });

  test("a NaN of other bits that passes through the host becomes the canonical one", () => {
    const [single] = call("floats32", 0xffa0_1234) as number[];
    const [double] = call("floats64", 0xfff4_0000_0000_1234n) as number[];
    expect(call("list32", [single])).toBe(0x7fc0_0000);
    expect(call("list64", [double])).toBe(0x7ff8_0000_0000_0000n);
    expect(call("bits32", call("float32", 0xffa0_1234))).toBe(0x7fc0_0000);
  });
});

const f32: ValueType = { kind: "f32" };
const f64: ValueType = { kind: "f64" };

describe("floats in JSON", () => {
  test("a number is refused as f32 if it would become infinite, and is rounded otherwise", () => {
    const read = (json: number): ComponentValue =>
      argumentsFromJson([{ name: "a", type: f32 }], { a: json })[0];
    // The shortest form of the largest f32, and the largest number that is rounded to it.
    for (const number of [3.4028235e38, 3.4028235677973362e38, -3.4028235e38, 0.1, 1e-300, 16_777_217]) {
      expect(read(number)).toBe(number);
    }
    for (const number of [3.4028235677973366e38, -3.4028235677973366e38, 1e39, Number.MAX_VALUE]) {
      expect(() => read(number)).toThrow(
        new ArgumentError("/a", "must be a number that fits in f32, whose largest is about 3.4028235e38"),
      );
    }
    expect(argumentsFromJson([{ name: "a", type: f64 }], { a: 1e39 })).toEqual([1e39]);
  });

  test("-0 keeps its sign in the text of arguments and outputs", () => {
    for (const type of [f32, f64]) {
      const pair: ValueType = { kind: "tuple", items: [type, type] };
      const echo: FunctionType = { params: [{ name: "a", type: pair }], result: pair, isAsync: false };
      const result = callExport(echo, '{"a":[-0,0]}', ([value]) => {
        expect(value).toEqual([-0, 0]);
        return value;
      });
      expect(result).toEqual({ status: "returned", text: "[-0,0]" });
    }
  });
});
