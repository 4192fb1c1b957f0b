import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { checkReturned } from "../../../../src/sandboxes/contract/output.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../granted-tool.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const tool = new GrantedTool(sandboxes, "export default ({ source }) => (0, eval)(source)");

/** What becomes of an output: its text, as `toEqual` takes `-0` for another number, or why there is none. */
async function inQuickJs(source: string): Promise<string> {
  const { success, output, error } = await tool.call({ input: { source } });
  return success ? JSON.stringify(output) : String(error?.message);
}

function onHost(source: string): string {
  const checked = checkReturned(runInThisContext(source), undefined, 0);
  return checked.status === "completed"
    ? JSON.stringify(checked.output)
    : String(Reflect.get(checked, "message"));
}

const LEAVES = [
  "null",
  "undefined",
  "true",
  "0",
  "-0",
  "1.5",
  "NaN",
  "-Infinity",
  "1n",
  '"text"',
  '"\\ud800"',
  "Symbol()",
  "() => {}",
  "class A {}",
  "new Date(0)",
  "new Date(NaN)",
  "/x/",
  'new Error("x")',
  'new RangeError("y")',
  "new Map([[1, 2]])",
  "new Map()",
  "new Set([1])",
  "new WeakMap()",
  "new WeakSet()",
  "new Uint8Array(2)",
  "new ArrayBuffer(1)",
  "new DataView(new ArrayBuffer(1))",
  "new Float64Array(0)",
  "[Promise.resolve(1)]",
  "new Number(NaN)",
  "new Number(1)",
  'new String("x")',
  "new Boolean(false)",
  "Object.create(null)",
  "Math",
  "JSON",
  "{}",
  "[]",
  "[, 1]",
  "new Array(3)",
  "Object(1n)",
  "Object(Symbol())",
  "(function* () {})()",
  "new (class Point { x = 1; })()",
  "new (class extends Array {})(2)",
  "new (class extends Map {})()",
  "new Proxy([1, NaN], {})",
  "new Proxy({ a: 1n }, {})",
  "[].values()",
  "new Map([[1, 2]]).keys()",
  "({ a: new Set([1]).values() })",
  '"aa".matchAll(/a/g)',
  "[1].values().map(String)",
  "Object.setPrototypeOf({ a: 1 }, { b: NaN })",
  "Object.assign([1], { a: NaN })",
  "new (class extends Date {})(0)",
  '{ get [Symbol.toStringTag]() { return "Response"; } }',
  '{ [Symbol.toStringTag]: "Response", a: 1 }',
  "Object.defineProperty({}, 'a', { value: NaN })",
  "(function () { return arguments; })(1, NaN)",
];

const { source } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(...LEAVES).map((leaf) => (leaf.startsWith("{") ? `(${leaf})` : leaf)),
    fc.array(tie("source"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
    fc
      .array(fc.tuple(fc.constantFrom("a", "b/c", "~", "toString", "1"), tie("source")), { maxLength: 3 })
      .map(
        (members) =>
          `({ ${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")} })`,
      ),
    tie("source").map((value) => `({ get a() { return ${value}; } })`),
    tie("source").map((value) => `({ b: NaN, toJSON() { return ${value}; } })`),
    tie("source").map((value) => `((a) => { a.push(a); return a; })([${value}])`),
    tie("source").map((value) => `((a) => [a, a])(${value})`),
  ),
}));

test.each(
  LEAVES,
)("an output %s is that of a host function, and so is why it cannot be written", async (leaf) => {
  for (const code of [`(${leaf})`, `[(${leaf})]`, `({ toJSON() { return ${leaf}; } })`])
    expect(await inQuickJs(code)).toBe(onHost(code));
});

test("a tool may remove classes from the globals", async () => {
  expect(await inQuickJs("delete globalThis.WeakMap, new (class Point { x = 1; })()")).toBe('{"x":1}');
});

test("outputs of any form are those of host functions, and so is why one cannot be written", async () => {
  await fc.assert(
    fc.asyncProperty(source, async (code) => {
      expect(await inQuickJs(`(${code})`)).toBe(onHost(`(${code})`));
    }),
    { numRuns: 300 },
  );
});

test("an output for which there is no memory, or no stack, is not searched for what JSON cannot hold", async () => {
  const limits = { memoryBytes: 20 * 2 ** 20, wallTimeMs: 10_000 };
  const large = await tool.call({ input: { source: "new Array(1e8)" }, limits });
  expect(large.error).toMatchObject({ code: "limit_exceeded" });
  const deep = "(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; })()";
  expect((await tool.call({ input: { source: deep }, limits })).error?.code).not.toBe("timeout");
});
