import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of random types, for each of which a component would have to be compiled.
import { type CoreValue, liftFlat, lowerFlat, takeFrom } from "../../../../src/sandboxes/wasm/abi/call.ts";
import { Handles } from "../../../../src/sandboxes/wasm/abi/handles.ts";
import { layoutOf, MAX_FLAT } from "../../../../src/sandboxes/wasm/abi/layout.ts";
import { load, store } from "../../../../src/sandboxes/wasm/abi/load-store.ts";
import { MemoryAccess, type MemoryAccessOptions } from "../../../../src/sandboxes/wasm/abi/memory-access.ts";
import { AbiError, type ComponentValue } from "../../../../src/sandboxes/wasm/abi/value.ts";
import { argumentsFromJson, toJson } from "../../../../src/sandboxes/wasm/exports/json.ts";
import { argumentsSchema } from "../../../../src/sandboxes/wasm/exports/json-schema.ts";
import type { ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { roomyBudget } from "../../../fixtures/wasm/lift-budget.ts";
import { typesWithJson } from "../../../fixtures/wasm/types.ts";

/** Access to a memory with an allocator that never frees. */
function access(options: Partial<MemoryAccessOptions> = {}): MemoryAccess {
  const memory = new WebAssembly.Memory({ initial: 16 });
  let next = 64;
  return new MemoryAccess({
    component: 0,
    memory,
    realloc: (_old, _oldSize, alignment, size) => {
      const at = Math.ceil(next / alignment) * alignment;
      next = at + size;
      return at;
    },
    encoding: "utf8",
    handles: new Handles(),
    budget: roomyBudget(),
    ...options,
  });
}

describe("any value that JSON can give", () => {
  const samples = typesWithJson();
  const encodings = fc.constantFrom("utf8", "utf16", "latin1+utf16");

  test("any JSON value is the same after a round trip through memory and core values, in every encoding", () => {
    fc.assert(
      fc.property(samples, encodings, ({ type, json }, encoding) => {
        const [value] = argumentsFromJson([{ name: "a", type }], json === undefined ? {} : { a: json });
        const side = access({ encoding });
        const at = side.allocate(layoutOf(type).alignment, layoutOf(type).size);
        store(side, value, at, type);
        const expected = json ?? null;
        expect(toJson(type, load(side, at, type))).toEqual(expected);
        if (layoutOf(type).flat.length > MAX_FLAT) return;
        const flat: CoreValue[] = [];
        lowerFlat(side, value, type, flat);
        expect(flat).toHaveLength(layoutOf(type).flat.length);
        expect(toJson(type, liftFlat(side, takeFrom(flat), type))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test("any value matches the schema that is derived from its type", () => {
    fc.assert(
      fc.property(samples, ({ type, json }) => {
        const schema = argumentsSchema({ params: [{ name: "a", type }], result: type, isAsync: false });
        const validate = new Ajv2020({ strict: false, ownProperties: true }).compile(schema);
        expect(validate(json === undefined ? {} : { a: json })).toBe(true);
        expect(validate({ a: json ?? null, b: 1 })).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

const u8 = { kind: "u8" } as const;
const u32 = { kind: "u32" } as const;
const f32 = { kind: "f32" } as const;
const u64 = { kind: "u64" } as const;
const record = (...types: ValueType[]): ValueType => ({
  kind: "record",
  fields: types.map((type, index) => ({ name: `f${index}`, type })),
});
const variant = (...types: (ValueType | undefined)[]): ValueType => ({
  kind: "variant",
  cases: types.map((type, index) => ({ name: `c${index}`, type })),
});
const named = (kind: "enum" | "flags", count: number): ValueType => ({
  kind,
  names: Array.from({ length: count }, (_, index) => `n${index}`),
});

describe("the layout of", () => {
  test.each<[string, ValueType, { size: number; alignment: number; flat: string }]>([
    ["a record that needs padding", record(u8, u32, u8), { size: 12, alignment: 4, flat: "i32 i32 i32" }],
    ["a record with 64 bits", record(u8, u64), { size: 16, alignment: 8, flat: "i32 i64" }],
    ["a variant of a byte", variant(undefined, u8), { size: 2, alignment: 1, flat: "i32 i32" }],
    ["a variant whose cases join to 32 bits", variant(u32, f32), { size: 8, alignment: 4, flat: "i32 i32" }],
    ["a variant whose cases join to 64 bits", variant(u64, f32), { size: 16, alignment: 8, flat: "i32 i64" }],
    [
      "an option of a string",
      { kind: "option", some: { kind: "string" } },
      { size: 12, alignment: 4, flat: "i32 i32 i32" },
    ],
    [
      "a result of nothing",
      { kind: "result", ok: undefined, err: undefined },
      { size: 1, alignment: 1, flat: "i32" },
    ],
    ["an enum of 256 names", named("enum", 256), { size: 1, alignment: 1, flat: "i32" }],
    ["an enum of 257 names", named("enum", 257), { size: 2, alignment: 2, flat: "i32" }],
    ["flags of 8 names", named("flags", 8), { size: 1, alignment: 1, flat: "i32" }],
    ["flags of 9 names", named("flags", 9), { size: 2, alignment: 2, flat: "i32" }],
    ["flags of 17 names", named("flags", 17), { size: 4, alignment: 4, flat: "i32" }],
    ["a list", { kind: "list", element: u64 }, { size: 8, alignment: 4, flat: "i32 i32" }],
  ])("the layout of %s is that of the canonical ABI", (_what, type, { size, alignment, flat }) => {
    const layout = layoutOf(type);
    expect({ ...layout, flat: layout.flat.join(" ") }).toMatchObject({ size, alignment, flat });
  });
});

describe("violations of the canonical ABI", () => {
  const string = { kind: "string" } as const;
  const bytesAt = (at: number, bytes: number[], options: Partial<MemoryAccessOptions> = {}): MemoryAccess => {
    const side = access(options);
    side.bytes(at, bytes.length).set(bytes);
    return side;
  };

  test.each<[string, MemoryAccess, ValueType, CoreValue[]]>([
    ["a string outside of memory", access(), string, [16 * 65_536 - 1, 2]],
    ["a string of invalid UTF-8", bytesAt(8, [0xff, 0xfe]), string, [8, 2]],
    ["a lone surrogate in UTF-16", bytesAt(8, [0x00, 0xd8], { encoding: "utf16" }), string, [8, 1]],
    ["UTF-16 at an odd address", access({ encoding: "utf16" }), string, [9, 1]],
    ["a char that is a surrogate", access(), { kind: "char" }, [0xd800]],
    ["a char beyond Unicode", access(), { kind: "char" }, [0x11_0000]],
    ["a list outside of memory", access(), { kind: "list", element: u32 }, [16 * 65_536 - 4, 2]],
    ["a list that is not aligned", access(), { kind: "list", element: u32 }, [2, 1]],
    ["a case index out of range", access(), variant(undefined, u8), [2, 0]],
    ["an enum index out of range", access(), named("enum", 3), [3]],
  ])("%s ends the call", (_what, side, type, flat) => {
    expect(() => liftFlat(side, takeFrom(flat), type)).toThrow(AbiError);
  });

  test("an allocator that returns an address out of bounds or not aligned ends the call", () => {
    for (const at of [16 * 65_536, 4, -1]) {
      const side = access({ realloc: () => at });
      expect(() => side.allocate(8, 8)).toThrow(AbiError);
    }
  });

  test("bits without a name are ignored, and a bool is true whatever its bits", () => {
    const lift = (type: ValueType, value: CoreValue): ComponentValue =>
      liftFlat(access(), takeFrom([value]), type);
    expect(lift(named("flags", 2), 0xff)).toEqual(["n0", "n1"]);
    expect(lift({ kind: "bool" }, 7)).toBe(true);
    expect(lift({ kind: "u8" }, 0x1ff)).toBe(255);
    expect(lift({ kind: "s8" }, 0x180)).toBe(-128);
    expect(lift({ kind: "u32" }, -1)).toBe(0xffff_ffff);
    expect(lift({ kind: "u64" }, -1n)).toBe(0xffff_ffff_ffff_ffffn);
  });
});
