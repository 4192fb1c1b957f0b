import type { WatVariation } from "../../fixtures/wasm/wat-component.ts";
import { forever, times } from "../deadline/deadline-case.ts";
import type { MemoryCase } from "./memory-case.ts";

const MIB = 2 ** 20;
const CAP_MIB = 32;

/** A guest may take its memory twice, and what the process needs for its calls. */
const BOUND = { aboveBaselineMiB: 2 * CAP_MIB + 32 };

const LIMITS = { memoryBytes: CAP_MIB * MIB, wallTimeMs: 2_000, outputBytes: MIB };

function quickjs(name: string, source: string): MemoryCase {
  const tools = async (): ReturnType<MemoryCase["tools"]> => ({
    guest: { quickjs: { source } },
    harmless: { quickjs: { source: "export default () => 1;" } },
  });
  return { name: `QuickJS: ${name}`, tools, limits: LIMITS, bound: BOUND };
}

function wasm(name: string, variation: WatVariation): MemoryCase {
  const tools = async (): ReturnType<MemoryCase["tools"]> => {
    // What makes components takes much memory itself.
    const { watComponent } = await import("../../fixtures/wasm/wat-component.ts");
    return {
      guest: { wasm: { component: await watComponent(variation) } },
      harmless: { wasm: { component: await watComponent() } },
    };
  };
  return { name: `Wasm: ${name}`, tools, limits: LIMITS, bound: BOUND };
}

const HOST_LOG = '(import "sandgate:tool/host@0.1.0" "log" (func $log (param i32 i32 i32)))';
const LARGE_MEMORY = '(memory (export "memory") 400)';

/** Writes the result of `call`, a text or an error of a length, at the address 16. */
function result(tag: number, offset: number, length: number): string {
  return `(memory.fill (i32.const 1024) (i32.const 49) (i32.const ${length})) (i32.store8 (i32.const 16) (i32.const ${tag}))
    (i32.store offset=${offset} (i32.const 16) (i32.const 1024)) (i32.store offset=${offset + 4} (i32.const 16) (i32.const ${length})) i32.const 16`;
}

/** Throws an exception of a type, and catches it as a reference. */
const caught = (count: number, value: string): string =>
  `(block $h (result exnref) (try_table (catch_all_ref $h) ${times(count, value)} (throw $e)) unreachable)`;

const tag = (count: number, type: string): string => `(tag $e (param ${times(count, `${type} `)}))`;

/** Fills a table again and again. */
const fillTable = (entry: string): string =>
  `(local $i i32) ${forever(`(table.set $t (local.get $i) ${entry}) (local.set $i (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (i32.const 60000)))`)}`;

const I64 = "(i64.const 0) ";
const V128 = "(v128.const i64x2 0 0) ";

/** Guests with exceptions. Each is also run in all threads at once. */
const EXCEPTIONS: readonly (readonly [name: string, fields: string])[] = [
  [
    "a table of exceptions with 500 numbers",
    `${tag(500, "i64")} (table $t 60000 exnref) (func $work ${fillTable(caught(500, I64))})`,
  ],
  [
    "a table of exceptions without values",
    `(tag $e) (table $t 60000 exnref) (func $work ${fillTable(caught(0, ""))})`,
  ],
  [
    "exceptions with 1,000 vectors on the stack",
    `${tag(1_000, "v128")} (func $work (drop ${caught(1_000, V128)}) (call $hold ${caught(1_000, V128)}))
     (func $hold (param exnref) (call $hold ${caught(1_000, V128)}) (drop (local.get 0)))`,
  ],
  [
    "exceptions that are in exceptions",
    `(tag $e (param exnref ${times(100, "i64 ")})) (func $work (local $last exnref)
     ${forever(`(local.set $last ${caught(1, `(local.get $last) ${times(100, I64)}`)})`)})`,
  ],
];

const exceptionCase = (name: string, fields: string): MemoryCase =>
  wasm(name, { fields, call: "call $work i32.const 16" });

/** Guests that try to take more memory than they may. */
export const MEMORY_CASES: readonly MemoryCase[] = [
  wasm("64 tables that grow", {
    fields: times(60, "(table 1 externref) "),
    call: forever(
      Array.from(
        { length: 60 },
        (_, n) => `(drop (table.grow ${n} (ref.null extern) (i32.const 10000)))`,
      ).join(" "),
    ),
  }),
  wasm("a memory that grows and is written", {
    call: forever(`(drop (memory.grow (i32.const 16)))
      (memory.fill (i32.const 0) (i32.const 1) (i32.shl (memory.size) (i32.const 16)))`),
  }),
  ...EXCEPTIONS.map(([name, fields]) => exceptionCase(name, fields)),
  ...EXCEPTIONS.map(
    ([name, fields]): MemoryCase => ({
      ...exceptionCase(`${name}, in 4 calls, twice`, fields),
      calls: 4,
      rounds: 2,
      // Two threads run at a time.
      bound: { aboveBaselineMiB: 2 * (2 * CAP_MIB + 32) },
    }),
  ),
  wasm("30,000 exported functions and 400,000 others", {
    fields: `(func $f) ${times(400_000, "(func)")} ${Array.from({ length: 30_000 }, (_, n) => `(export "${n}" (func $f))`).join(" ")}`,
  }),
  wasm("64 tables of functions", {
    fields: `(func $f) ${times(60, "(table 16384 funcref) ")} (elem (table 0) (i32.const 0) func ${times(16_000, "$f ")})`,
  }),
  {
    ...wasm("20 calls in a row that fill a table of functions", {
      fields: `(func $f) (table 200000 funcref) (elem declare func $f)`,
      call: "(table.fill (i32.const 0) (ref.func $f) (i32.const 200000)) i32.const 16",
    }),
    rounds: 20,
  },
  wasm("references to 60,000 functions", {
    fields: `${Array.from({ length: 60_000 }, (_, n) => `(func $f${n})`).join(" ")} (table $t 60000 funcref)
      (elem $all func ${Array.from({ length: 60_000 }, (_, n) => `$f${n}`).join(" ")})`,
    call: "(table.init $t $all (i32.const 0) (i32.const 0) (i32.const 60000)) i32.const 16",
  }),
  wasm("an error with long names in its stack", {
    fields: `${times(8, `(func $${"n".repeat(30_000)}) `).replaceAll(/\(func \$(n+)\) /g, (_all, name: string, at: number) => `(func $${name}${at} unreachable) `)}`,
    call: "call 0 i32.const 16",
  }),
  wasm("an output of 20 MiB", { memory: LARGE_MEMORY, call: result(0, 4, 20 * MIB) }),
  wasm("an error message of 20 MiB", { memory: LARGE_MEMORY, call: result(1, 8, 20 * MIB) }),
  ...[0.5, 1, 2].map((size) =>
    wasm(`log lines of ${size} MiB`, {
      imports: HOST_LOG,
      memory: LARGE_MEMORY,
      call: forever(`(call $log (i32.const 1) (i32.const 0) (i32.const ${size * MIB}))`),
    }),
  ),
  {
    ...wasm("functions that take V8 as much memory to optimise as is allowed", {
      fields: times(
        8,
        `(func (param i64) (result i64) (local.get 0) ${times(20_000, "(i64.const 3) i64.div_s ")})`,
      ),
      call: forever(Array.from({ length: 8 }, (_, n) => `(drop (call ${n} (i64.const 1)))`).join(" ")),
    }),
    // V8 optimises up to four functions at a time.
    bound: { aboveBaselineMiB: 4 * 80 + CAP_MIB },
  },
  {
    ...wasm("60 calls in a row that write 28 MiB each", {
      call: `(drop (memory.grow (i32.const 440)))
        (memory.fill (i32.const 65536) (i32.const 1) (i32.const ${440 * 65_536})) ${result(0, 4, 8)}`,
    }),
    rounds: 60,
  },
  {
    ...quickjs(
      "60 calls in a row that write 20 MiB each",
      "export default () => new Uint8Array(20_000_000).fill(1).length;",
    ),
    rounds: 60,
  },
  quickjs("an array that grows", "export default () => { const all = []; for (;;) all.push([1, 2, 3]); };"),
  quickjs("a string that grows", "export default () => { let text = 'x'; for (;;) text += text; };"),
  quickjs("an output of 10 MiB", "export default () => 'x'.repeat(10_000_000);"),
  quickjs("an output of many objects", "export default () => Array.from({ length: 200_000 }, () => ({}));"),
  quickjs("an error message of 10 MiB", "export default () => { throw new Error('x'.repeat(10_000_000)); };"),
  quickjs(
    "log lines of 1 MiB",
    "export default () => { const text = 'x'.repeat(2 ** 20); for (;;) console.log(text); };",
  ),
  quickjs(
    "toJSON on all arrays",
    "Array.prototype.toJSON = function () { return 'x'.repeat(1_000_000); }; export default () => Array.from({ length: 100 }, () => [1]);",
  ),
  quickjs(
    "a nested call with large arguments",
    "export default async (_input, { tools }) => { for (;;) await tools.call('wait', { text: 'x'.repeat(900_000) }).catch(() => {}); };",
  ),
  {
    ...quickjs(
      "64 calls in flight that wait with 20 MiB each",
      `export default async (_input, { tools }) => {
        const all = new Uint8Array(20_000_000).fill(1);
        await tools.call('wait', {});
        return all.length;
      };`,
    ),
    calls: 64,
    limits: { ...LIMITS, wallTimeMs: 20_000 },
    // The budget of waiting guests is 256 MiB. A copy is sent to the thread in which one resumes.
    bound: { inAllMiB: 1_024 },
  },
  {
    name: "QuickJS: 64 calls in flight with two nested calls each",
    tools: async () => ({
      guest: {
        quickjs: {
          source:
            "export default async (_input, { tools }) => Promise.all([tools.call('wait', {}), tools.call('wait', {})]);",
        },
      },
      harmless: { quickjs: { source: "export default () => 1;" } },
    }),
    calls: 64,
    limits: { memoryBytes: 64 * MIB, wallTimeMs: 20_000 },
    bound: { inAllMiB: 400 },
  },
];
