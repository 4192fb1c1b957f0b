import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../fixtures/wasm/task.ts";
import { type WatVariation, watComponent } from "../../fixtures/wasm/wat-component.ts";

const MIB = 2 ** 20;
const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-v8-memory-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true });
});

const times = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(" ");

/** Runs a body so often. */
const loop = (count: number, body: string): string =>
  `(local $i i32) (loop $next ${body} (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $next (i32.lt_u (local.get $i) (i32.const ${count}))))`;

/** Throws an exception with so many numbers of 64 bits, and catches it as a reference. */
const caught = (numbers: number): string =>
  `(block $h (result exnref) (try_table (catch_all_ref $h) ${times(numbers, () => "(i64.const 0)")} (throw $e)) unreachable)`;

const tag = (numbers: number): string => `(tag $e (param ${times(numbers, () => "i64")}))`;

const KEPT = `${tag(500)} (table $t 12000 exnref) (func $work ${loop(12_000, `(table.set $t (local.get $i) ${caught(500)})`)})`;

/** Does the work, and gives the input back. */
const CALL = `call $work (i32.store8 (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (local.get 2))
  (i32.store (i32.const 24) (local.get 3)) i32.const 16`;

/** For each row of the table in SECURITY.md that says "charged", a component that takes more than 16 MiB. */
const CHARGED: Readonly<Record<string, WatVariation>> = {
  "linear memories": { memory: '(memory (export "memory") 300)' },
  tables: { fields: "(table 262144 funcref) (table 262144 externref) (table 262144 (ref null extern))" },
  exceptions: { fields: KEPT, call: CALL },
  "functions, exports, imports and elements of instances": {
    fields: `(func $f) ${times(500_000, () => "(func)")}
      ${times(32_000, (index) => `(export "${index}" (func $f))`)}`,
  },
};

/** For each row that says "refused", a component with it, and what its author reads. */
const REFUSED: Readonly<Record<string, readonly [fields: string, message: RegExp]>> = {
  "structs and arrays": [
    "(type (struct (field i32)))",
    /uses garbage-collected types.*compile it for linear memory/,
  ],
  "types in recursive groups": ["(rec (type (func)) (type (func)))", /uses garbage-collected types/],
  "memories and tables of 64 bits": ["(table i64 1 funcref)", /64-bit memory or table/],
  "shared memories": ["(memory 1 2 shared)", /shared or 64-bit memory/],
  "tables with an initial value": [
    "(func $f) (table 1 (ref func) (ref.func $f))",
    /a table with an initial value, which is not supported/,
  ],
  "names for debugging of more than 32 KiB": [
    `(func $${"n".repeat(40_000)} unreachable)`,
    /a name of 40000 bytes for debugging.*wasm-tools strip/,
  ],
  "more than 32,768 types, imports, exports, memories, tables and tags": [
    `(func $f) ${times(33_000, (index) => `(export "${index}" (func $f))`)}`,
    /more than 32768 types, imports, exports/,
  ],
  "more than 32 memories or 64 tables": [times(65, () => "(table 0 funcref)"), /too many memories or tables/],
};

/** Rows about what is bounded elsewhere. */
const BOUNDED: readonly string[] = [
  "machine code",
  "optimising functions",
  "types of all components of a process",
  "the component itself: data, elements, custom sections",
  "stacks",
  "handles of resources",
  "values for the host",
];

describe("what a core module can make V8 allocate", () => {
  test("is listed in SECURITY.md, as it is treated here", () => {
    const text = readFileSync("SECURITY.md", "utf8");
    const [, from = ""] = text.split("### What WebAssembly can make V8 allocate");
    const [table = ""] = from.split("\n### ");
    const rows = [...table.matchAll(/^\| ([^|]+) \| (charged|refused|bounded)[:,]? /gm)];
    const listed = Map.groupBy(rows, ([, , treatment]) => treatment);
    const names = (treatment: string): readonly string[] =>
      (listed.get(treatment) ?? []).map(([, name = ""]) => name);
    expect(names("charged").toSorted()).toEqual(Object.keys(CHARGED).toSorted());
    expect(names("refused").toSorted()).toEqual(Object.keys(REFUSED).toSorted());
    expect(names("bounded").toSorted()).toEqual(BOUNDED.toSorted());
  });

  test.each(Object.entries(CHARGED))("is charged to the memory limit: %s", async (_name, variation) => {
    const component = await watComponent(variation);
    const limits = { memoryBytes: 16 * MIB, wallTimeMs: 20_000 };
    expect(await sandbox.run(wasmTask(component, "any", {}, { limits }))).toMatchObject({
      status: "limit_exceeded",
      limit: "memoryBytes",
    });
  });

  test.each(Object.entries(REFUSED))("is refused: %s", async (_name, [fields, message]) => {
    const component = await watComponent({ fields });
    await expect(sandbox.prepare({ wasm: { component, tool: "any" } })).rejects.toThrow(message);
  });
});

function replace(bytes: Buffer, from: readonly number[], to: readonly number[]): void {
  const at = bytes.indexOf(Buffer.from(from));
  expect(at).toBeGreaterThan(0);
  bytes.set(to, at);
}

describe("exceptions", () => {
  const run = async (fields: string, memoryBytes = 16 * MIB) => {
    const component = await watComponent({ fields, call: CALL });
    return sandbox.run(wasmTask(component, "any", {}, { limits: { memoryBytes, wallTimeMs: 30_000 } }));
  };

  test("that are caught and forgotten cost nothing, however many they are", async () => {
    const outcome = await run(`${tag(20)} (func $work ${loop(100_000, `(drop ${caught(20)})`)})`);
    expect(outcome).toMatchObject({ status: "completed" });
  });

  test("that old compilers throw are counted, too, on each level of a recursion", async () => {
    const numbers = times(500, () => "(i64.const 0)");
    const fields = `${tag(500)} (func $work (block ${numbers} (throw $e) nop nop nop (call $work)))`;
    const component = Buffer.from(await watComponent({ fields, call: CALL }));
    // The block becomes a `try`, and the first `nop` its `catch_all`: the text format no longer has them.
    replace(component, [0x02, 0x40, 0x42, 0x00], [0x06, 0x40, 0x42, 0x00]);
    replace(component, [0x08, 0x00, 0x01, 0x01, 0x01], [0x08, 0x00, 0x19, 0x01, 0x01]);
    const limits = { memoryBytes: 8 * MIB, wallTimeMs: 30_000 };
    expect(await sandbox.run(wasmTask(component, "any", {}, { limits }))).toMatchObject({
      status: "limit_exceeded",
      limit: "memoryBytes",
    });
  });

  test("that are kept count as used memory, and no longer after the call", async () => {
    const few = KEPT.replaceAll("12000", "400");
    const first = await run(few.replace("(i32.const 400)", "(i32.const 400)"), 64 * MIB);
    expect(first).toMatchObject({ status: "completed" });
    expect((first as { used: { memoryBytes: number } }).used.memoryBytes).toBeGreaterThan(4 * MIB);
    for (let call = 0; call < 4; call++) {
      const { used } = (await run(few, 64 * MIB)) as { used: { memoryBytes: number } };
      expect(used.memoryBytes).toBeLessThan(24 * MIB);
    }
  });

  test("cannot be caught where the limit ends the call", async () => {
    const caughtAll = KEPT.replace(
      "(func $work",
      `(func $work (loop $again (block $h (try_table (catch_all $h) (call $fill))) (br $again))) (func $fill`,
    );
    expect(await run(caughtAll)).toMatchObject({ status: "limit_exceeded", limit: "memoryBytes" });
  });

  test("are refused in jco's engine, which does not support them", async () => {
    const component = await watComponent({ fields: KEPT, call: CALL });
    const wasm = { component, tool: "any", engine: "jco" } as const;
    await expect(sandbox.prepare({ wasm })).rejects.toThrow(/without the exception handling feature/);
  });
});
