import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compileEngine,
  HEAP_START,
  MIN_MEMORY_BYTES,
} from "../../../../src/sandboxes/quickjs/engine/engine-binary.ts";
import { EngineInstance } from "../../../../src/sandboxes/quickjs/engine/engine-instance.ts";
import { heapEnd, type Snapshot } from "../../../../src/sandboxes/quickjs/engine/suspended-guest.ts";
import { loadGuest, startGuest } from "../../../../src/sandboxes/quickjs/thread/step-end.ts";

const engine = await compileEngine();
const host: EngineInstance["host"] = {
  isOver: () => false,
  now: () => 0,
  receive: () => {},
  resolveModule: (_importer, specifier) => specifier,
  loadModule: () => "",
};

async function open(): Promise<EngineInstance> {
  const instance = await EngineInstance.create(engine, MIN_MEMORY_BYTES, 2 ** 25);
  instance.host = host;
  return instance;
}

async function load(source: string): Promise<{ instance: EngineInstance; template: Snapshot }> {
  const instance = await open();
  const program = { entry: "tool.js", sources: { "tool.js": source }, exportName: "default" };
  expect(loadGuest(instance, program, 2 ** 18)).toEqual({ status: "text", text: "+true" });
  return { instance, template: instance.snapshot() };
}

/** Whether a text is anywhere in an instance's memory. */
function holds({ memory }: EngineInstance, text: string): boolean {
  return Buffer.from(memory.buffer).includes(text);
}

/** Leaves its input in the heap and on the stack, without naming it. */
const HOARD = `export default ({ secret }) => {
  const kept = [];
  for (let i = 0; i < 100; i++) kept.push(secret + i, JSON.stringify({ secret, i }));
  return (function deep(n) { return n === 0 ? kept.length : deep(n - 1); })(100);
};`;

describe("an instance of the engine", () => {
  test("an instance that changes its owner has nothing of the previous owner in its memory", async () => {
    const { instance, template } = await load(HOARD);
    for (const owner of ["a", "b", "a"]) {
      const secret = `secret-of-${owner}-`;
      instance.restore(template, owner, undefined);
      expect(holds(instance, "secret-of-")).toBe(false);
      expect(startGuest(instance, JSON.stringify({ secret }))).toEqual({ status: "text", text: "+200" });
      // Shows that the search works.
      expect(holds(instance, secret)).toBe(true);
    }
  });

  test("an instance restores a snapshot that another instance took", async () => {
    const { template } = await load("let n = 1; export default () => ++n");
    const other = await open();
    for (let call = 0; call < 3; call++) {
      other.restore(template, "owner", undefined);
      expect(startGuest(other, "{}")).toEqual({ status: "text", text: "+2" });
    }
  });

  test("an instance refuses a snapshot of a memory of another size", async () => {
    const { instance, template } = await load("export default () => 1");
    const larger = { ...template, memoryBytes: 2 * MIN_MEMORY_BYTES };
    expect(() => instance.restore(larger, "owner", undefined)).toThrow(
      "taken in a different kind of instance",
    );
  });

  test("the end of an instance's heap never decreases, so it covers all used memory", async () => {
    const { instance, template } = await load("export default () => new Uint8Array(4e6).length");
    instance.restore(template, "owner", undefined);
    const before = heapEnd(new Uint8Array(instance.memory.buffer));
    startGuest(instance, "{}");
    const after = heapEnd(new Uint8Array(instance.memory.buffer));
    expect(after - before).toBeGreaterThan(3e6);
    expect(Buffer.from(instance.memory.buffer, after).every((byte) => byte === 0)).toBe(true);
    expect(before).toBeGreaterThan(HEAP_START);
  });

  test("the driver accepts and returns any string", async () => {
    const { instance, template } = await load("export default (input) => input");
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary", minLength: 5_000, maxLength: 70_000 }),
    );
    fc.assert(
      fc.property(text, (value) => {
        instance.restore(template, "owner", undefined);
        const end = startGuest(instance, JSON.stringify(value));
        expect(end.status === "text" && JSON.parse(end.text.slice(1))).toBe(value);
      }),
      { numRuns: 100 },
    );
  });

  test("an instance without memory for a string throws", async () => {
    const { instance, template } = await load("export default (input) => input.length");
    instance.restore(template, "owner", undefined);
    expect(() => startGuest(instance, JSON.stringify("x".repeat(2 ** 25)))).toThrow(
      "could not allocate a string",
    );
    expect(instance.memory.refused).toBe(true);
  });

  test("random numbers depend only on the seed", async () => {
    const { instance, template } = await load("export default () => [Math.random(), Math.random()]");
    const draw = (seed: number): unknown => {
      instance.restore(template, "owner", BigInt(seed));
      return startGuest(instance, "{}");
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });
});
