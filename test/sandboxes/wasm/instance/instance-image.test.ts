import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CompiledCore } from "../../../../src/sandboxes/wasm/artifact.ts";
// Inside: a property of writes to memories and globals, without a component that makes them.
import { mutableGlobals } from "../../../../src/sandboxes/wasm/component/prepared-code.ts";
import { limitCoreModule, memoryExportName } from "../../../../src/sandboxes/wasm/core-module/core-limits.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { InstanceImage } from "../../../../src/sandboxes/wasm/instance/instance.ts";

const PAGE = 65_536;

/** An instance of a core module in text, as a thread makes it. */
async function make(
  wat: string,
  pages: number[],
): Promise<{ instance: WebAssembly.Instance; core: CompiledCore }> {
  const binary = await parse(wat);
  const globals = mutableGlobals(readCoreModule(binary)) ?? [];
  const caps = { memories: pages.map((maxPages) => ({ maxPages, lowered: false })), tables: [] };
  const module = new WebAssembly.Module(
    (await limitCoreModule(binary, { ...caps, globals })) as BufferSource,
  );
  return { instance: new WebAssembly.Instance(module), core: { module, ...caps, globals, throws: false } };
}

const TWO_MEMORIES = `(module
  (memory $a 1 3) (memory $b 2)
  (data (memory $a) (i32.const 4090) "across two parts") (data (memory $b) (i32.const 131071) "z")
  (global $i (mut i32) (i32.const -7)) (global $l (mut i64) (i64.const 9007199254740993))
  (global $f (mut f32) (f32.const -0.1)) (global $d (mut f64) (f64.const -0))
  (func (export "set") (param i32 i64 f32 f64)
    (global.set $i (local.get 0)) (global.set $l (local.get 1))
    (global.set $f (local.get 2)) (global.set $d (local.get 3)))
  (func (export "get") (result i32 i64 f32 f64)
    (global.get $i) (global.get $l) (global.get $f) (global.get $d))
  (func (export "grow") (drop (memory.grow $a (i32.const 1)))))`;

function memoriesOf({ exports }: WebAssembly.Instance): Uint8Array[] {
  return [0, 1].map(
    (index) => new Uint8Array((exports[memoryExportName(index)] as WebAssembly.Memory).buffer),
  );
}

type Get = () => unknown[];
type Set = (...values: unknown[]) => void;

describe("an instance's image", () => {
  test("brings back every byte and every global, whatever was written", async () => {
    const { instance, core } = await make(TWO_MEMORIES, [3, 2]);
    const pristine = memoriesOf(instance).map((memory) => Buffer.from(memory));
    const image = new InstanceImage();
    image.add(instance, core);
    const write = fc.record({
      memory: fc.nat(1),
      at: fc.nat(2 * PAGE),
      bytes: fc.uint8Array({ maxLength: 9_000 }),
    });
    const values = fc.tuple(
      fc.integer(),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.float(),
      fc.double(),
    );
    fc.assert(
      fc.property(fc.array(write, { maxLength: 9 }), values, (writes, set) => {
        const memories = memoriesOf(instance);
        for (const { memory, at, bytes } of writes) {
          const target = memories[memory] as Uint8Array;
          const start = at % target.length;
          target.set(bytes.subarray(0, target.length - start), start);
        }
        (instance.exports["set"] as Set)(...set);
        expect(image.restore()).toBe(true);
        const restored = memoriesOf(instance);
        expect(restored.every((memory, index) => pristine[index]?.equals(memory))).toBe(true);
        expect((instance.exports["get"] as Get)()).toEqual([-7, 9007199254740993n, Math.fround(-0.1), -0]);
      }),
      { numRuns: 50 },
    );
  });

  test("is refused once a memory has grown, and leaves everything as it is", async () => {
    const { instance, core } = await make(TWO_MEMORIES, [3, 2]);
    const image = new InstanceImage();
    image.add(instance, core);
    (memoriesOf(instance)[1] as Uint8Array)[5] = 1;
    (instance.exports["grow"] as () => void)();
    expect(image.restore()).toBe(false);
    expect(memoriesOf(instance)[1]?.[5]).toBe(1);
  });

  test("is refused where a global is a NaN, as there are many", async () => {
    const { instance, core } = await make("(module (global (mut f64) (f64.const nan:0x123)))", []);
    const image = new InstanceImage();
    image.add(instance, core);
    expect(image.restore()).toBe(false);
  });
});
