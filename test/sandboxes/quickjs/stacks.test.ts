import { mkdir, mkdtemp, rename, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "rolldown";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { QuickJsImplementation } from "../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, recordEvents } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

/** Calls a tool that fails. `detail` is what the operator reads. */
async function fail(
  quickjs: QuickJsImplementation | string,
  limits: ResourceLimits = {},
): Promise<{ error: ToolExecution["error"]; detail: string }> {
  const { events, seen } = recordEvents();
  const implementation = typeof quickjs === "string" ? { source: quickjs } : quickjs;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs: implementation });
  const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 5_000, ...limits } }) };
  const { error } = await dispatchTool(await contextFor([tool], { sandboxes, policy, events }));
  const end = seen.at(-1);
  return { error, detail: (end?.type === "tool.failed" ? end.detail : undefined) ?? "" };
}

describe("what the operator reads of an error", () => {
  test("has its causes, with their stacks", async () => {
    const { error, detail } = await fail(`
const parse = (text) => JSON.parse(text);
export default () => {
  try { parse("{"); } catch (cause) {
    throw new Error("no configuration", { cause: new TypeError("no JSON", { cause }) });
  }
};`);
    expect(error?.message).toBe("no configuration");
    expect(detail.split("\n")).toEqual([
      "Error: no configuration",
      expect.stringMatching(/at default \(tool\.js:5:\d+\)/),
      "Caused by TypeError: no JSON",
      expect.stringMatching(/at default \(tool\.js:5:\d+\)/),
      expect.stringMatching(/^Caused by SyntaxError: /),
      expect.stringMatching(/at <input>:1:2/),
      expect.stringMatching(/at parse \(native\)/),
      expect.stringMatching(/at parse \(tool\.js:2:\d+\)/),
      expect.stringMatching(/at default \(tool\.js:4:\d+\)/),
    ]);
  });

  test("has the errors of an AggregateError, and causes that are no errors", async () => {
    const { detail } = await fail(`export default () => Promise.any([
      Promise.reject(new Error("first", { cause: { code: 7 } })),
      Promise.reject("second"),
    ]);`);
    const lines = detail.split("\n").filter((line) => !line.startsWith(" "));
    expect(lines).toEqual([
      expect.stringContaining("AggregateError"),
      "Error 1 of 2: Error: first",
      'Caused by {"code":7}',
      "Error 2 of 2: second",
    ]);
  });

  test.each([
    ["a circle of causes", "const e = new Error('mine'); e.cause = e; throw e;"],
    [
      "a million errors",
      "throw Object.assign(new Error('mine'), { errors: Array(1e6).fill(new Error('x')) });",
    ],
    [
      "an endless chain",
      "throw new (class extends Error { get cause() { return new this.constructor('mine'); } })('mine');",
    ],
    [
      "getters that throw",
      "throw Object.defineProperty(new Error('mine'), 'cause', { get() { throw 1; } });",
    ],
    ["errors without an end", "throw Object.assign(new Error('mine'), { errors: { length: 1e300 } });"],
    [
      "a tree of errors",
      "const f = (n) => new AggregateError(n ? [f(n - 1), f(n - 1)] : [], 'mine'); throw f(10);",
    ],
  ])("is bounded for %s", async (_case, body) => {
    const { error, detail } = await fail(`export default () => { ${body} };`);
    expect(error).toMatchObject({ code: "execution_error", message: "mine" });
    expect(detail.split("\n").filter((line) => !line.startsWith(" ")).length).toBeLessThanOrEqual(9);
    expect(detail.length).toBeLessThan(32_768);
  });
});

/**
 * Calls a tool that does not end. It is called again if its thread was ended before it could say where it was, since
 * the machine may be busy.
 */
async function timeOut(quickjs: QuickJsImplementation | string): ReturnType<typeof fail> {
  let attempt = await fail(quickjs, { wallTimeMs: 300 });
  for (let left = 5; left > 0 && attempt.detail === ""; left--) {
    attempt = await fail(quickjs, { wallTimeMs: 1_000 });
  }
  expect(attempt.error?.code).toBe("timeout");
  return attempt;
}

describe("what the operator reads of a time-out", () => {
  test.each([
    [
      "a loop",
      "const spin = () => {\n  for (;;) Math.max(1, 2);\n};\nexport default () => spin();",
      ["spin", 2],
      ["default", 4],
    ],
    [
      "after an await",
      "export default async () => {\n  await null;\n  for (;;)\n    Math.max(1, 2);\n};",
      ["default", 4],
    ],
    [
      "a comparator",
      "export default () => [2, 1].sort(\n  function compare() {\n    for (;;) Math.max(1, 2);\n  });",
      ["compare", 3],
      ["sort"],
      ["default", 1],
    ],
    [
      "a regular expression",
      "export default () =>\n  /^(a|a)*$/.test('a'.repeat(50) + 'b');",
      ["exec"],
      ["test"],
      ["default", 2],
    ],
    [
      "a finally that goes on",
      "export default () => {\n  for (;;) try { Math.max(1, 2); } finally { continue; }\n};",
      ["default", 2],
    ],
  ] as const)("names the line where the tool was: %s", async (_case, source, ...frames) => {
    const { error, detail } = await timeOut(source);
    expect(error?.message).not.toContain("tool.js");
    expect(detail.split("\n")).toEqual([
      "its deadline interrupted it:",
      ...frames.map(([name, line]) =>
        expect.stringContaining(line === undefined ? `at ${name} (native)` : `at ${name} (tool.js:${line}:`),
      ),
    ]);
  });

  test("names the line of the top-level code that did not end", async () => {
    const source = "export default () => 1;\nfor (;;)\n  Math.max(1, 2);";
    const { detail } = await timeOut(source);
    expect(detail).toMatch(/^its deadline interrupted it:\n {4}at <anonymous> \(tool\.js:3:\d+\)$/);
  });

  test("does not let the tool run on, and the next call runs", async () => {
    const source = `
      const deep = (n) => { if (n > 0) deep(n - 1); for (;;) Math.max(1, 2); };
      export default () => { try { deep(1000); } catch { return "caught"; } };`;
    const { detail } = await timeOut(source);
    expect(detail.length).toBeLessThan(4_096);
    expect((await fail("export default () => { throw new Error('next'); };")).error?.message).toBe("next");
  });
});

describe("the stacks of a bundle", () => {
  /** Bundles a tool of two TypeScript files. Returns the path of the bundle. */
  async function bundle(sourcemap: boolean | "inline", helper: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "sandgate-bundle-"));
    await mkdir(join(folder, "src"));
    await writeFile(
      join(folder, "src/tool.ts"),
      "import { check } from './check.ts';\n\nexport default (): number => check(1);\n",
    );
    await writeFile(join(folder, "src/check.ts"), helper);
    const file = join(folder, "dist/tool.js");
    await build({ input: join(folder, "src/tool.ts"), output: { file, sourcemap, minify: true } });
    return file;
  }
  const THROWS =
    "interface Unused { readonly n: number }\n\nexport function check(n: number): number {\n  throw new RangeError('bad ' + n);\n}\n";

  test.each([true, "inline"] as const)("name the lines of its sources: sourcemap %s", async (sourcemap) => {
    const { error, detail } = await fail({ file: await bundle(sourcemap, THROWS) });
    expect(error?.message).toBe("bad 1");
    expect(detail.split("\n")).toEqual([
      "RangeError: bad 1",
      expect.stringMatching(/^ +at .*\(\.\.\/src\/check\.ts:4:\d+\)$/),
      expect.stringMatching(/^ +at .*\(\.\.\/src\/tool\.ts:3:\d+\)$/),
    ]);
  });

  test("name them for a time-out, and for a bundle that cannot be loaded", async () => {
    const endless =
      "export const check = (n: number): number => {\n  for (;;) console.debug([n].concat(n));\n};\n";
    const { detail } = await timeOut({ file: await bundle(true, endless) });
    expect(detail).toMatch(/\.\.\/src\/check\.ts:2:\d+/);
    const broken =
      "const n: number = missing;\nexport const check = (): number => n;\ndeclare const missing: number;\n";
    const file = await bundle("inline", broken);
    await expect(sandboxes.prepare({ quickjs: { file } })).rejects.toThrow(
      /^\.\.\/src\/check\.ts:1:\d+: ReferenceError: /,
    );
  });

  test("are those of the bundle if the map is a link out of the folder, or not there", async () => {
    const file = await bundle(true, THROWS);
    const outside = `${dirname(file)}-outside.map`;
    await rename(`${file}.map`, outside);
    expect((await fail({ file })).detail).toMatch(/\(tool\.js:1:\d+\)/);
    await symlink(outside, `${file}.map`);
    expect((await fail({ file })).detail).toMatch(/\(tool\.js:1:\d+\)/);
  });
});
