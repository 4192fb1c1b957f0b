import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { defineTool } from "../../../../src/engine/tool.ts";
import { allow } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import type { QuickJsImplementation } from "../../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, recordEvents } from "../../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

/** Writes files into a new folder, and returns the path of the first one. */
async function write(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-modules-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return join(folder, Object.keys(files)[0] ?? "");
}

async function run(
  quickjs: QuickJsImplementation,
  input: object = {},
): Promise<ToolExecution & { detail: string }> {
  const { events, seen } = recordEvents();
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs });
  const policy = { check: () => allow({ sandbox: "quickjs" }) };
  const execution = await dispatchTool(await contextFor([tool], { sandboxes, policy, events }), input);
  const end = seen.at(-1);
  return { ...execution, detail: (end?.type === "tool.failed" ? end.detail : undefined) ?? "" };
}

/** Returns why a tool cannot be prepared. */
async function problem(quickjs: QuickJsImplementation): Promise<string> {
  return sandboxes.prepare({ quickjs }).then(
    () => "none",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

describe("a tool of several modules", () => {
  test("a tool imports files of its folder, in JavaScript and TypeScript", async () => {
    const file = await write({
      "tool.ts": `
        import { double } from "./lib/double.js";
        import type { Input } from "./types.ts";
        export default ({ n }: Input): number => double(n) as number;`,
      "lib/double.js": `import { two } from "../two.mts"; export const double = (n) => two * n;`,
      "two.mts": "export const two: number = 2;",
      "types.ts": "export interface Input { n: number }",
    });
    expect((await run({ file }, { n: 21 })).output).toBe(42);
    expect((await run({ file: pathToFileURL(file) }, { n: 4 })).output).toBe(8);
  });

  test("a tool may import a TypeScript file as the JavaScript file that a compiler would write", async () => {
    const file = await write({
      "tool.ts": `
        import { count, add } from "./state.js";
        import { count as same } from "./state.ts";
        import { which } from "./both.js";
        import { one } from "./one.mjs";
        export default (): unknown => { add(); return [count(), same(), which, one]; };`,
      "state.ts":
        "let n: number = 0; export const add = (): void => { n++; }; export const count = (): number => n;",
      "both.js": "export const which = 'js';",
      "both.ts": "export const which: string = 'ts';",
      "one.mts": "export const one: number = 1;",
    });
    expect((await run({ file })).output).toEqual([1, 1, "js", 1]);
    const broken = await write({ "tool.js": "import './gone.js'; export default () => 1;" });
    expect(await problem({ file: broken })).toMatch(/'gone.js' cannot be read: ENOENT/);
  });

  test("a tool may have circular imports", async () => {
    const file = await write({
      "a.js": `import { b } from "./b.js"; export const a = () => "a"; export default () => b();`,
      "b.js": `import { a } from "./a.js"; export const b = () => a() + "b";`,
    });
    expect((await run({ file })).output).toBe("ab");
  });

  test("a running tool may import a loaded module again, but no other", async () => {
    const file = await write({
      "tool.js": `import "./one.js"; export default async ({ name }) => (await import(name)).value;`,
      "one.js": "export const value = 1;",
      "two.js": "export const value = 2;",
    });
    expect((await run({ file }, { name: "./one.js" })).output).toBe(1);
    expect((await run({ file }, { name: "./two.js" })).error?.message).toMatch(
      /was not loaded with the tool/,
    );
  });

  test.each<[string, string, RegExp]>([
    ["a package", "lodash", /the sandbox has no packages; bundle it into the tool's file/],
    ["a module of Node.js", "node:fs", /the sandbox has no modules of Node.js/],
    ["an absolute path", "/etc/passwd", /a tool can import only relative paths in its folder/],
    ["a URL", "https://example.com/x.js", /a tool can import only relative paths in its folder/],
    [
      "a data URL",
      "data:text/javascript,export default 1",
      /a tool can import only relative paths in its folder/,
    ],
    ["a file outside of its folder", "../outside.js", /outside the tool's folder/],
    ["a file outside, in disguise", "./lib/../../outside.js", /outside the tool's folder/],
    ["a file that is not there", "./missing.js", /tool.js: 'missing.js' cannot be read: ENOENT/],
    ["a file that is not a module", "./data.json", /'data.json' is not a module/],
    ["a folder", "./lib", /'lib' is not a module/],
    ["a link out of its folder", "./link.js", /'link.js' is a link to a file outside the tool's folder/],
  ])("a tool cannot import %s", async (_case, specifier, message) => {
    const file = await write({
      "tool.js": `import ${JSON.stringify(specifier)}; export default () => 1;`,
      "data.json": "{}",
      "lib/inner.js": "",
    });
    const outside = await write({ "secret.js": "export default 1;" });
    await symlink(outside, join(dirname(file), "link.js"));
    expect(await problem({ file })).toMatch(message);
  });

  test("a tool cannot have endless imports", async () => {
    const files: Record<string, string> = {};
    for (let n = 0; n < 70; n++) files[`m${n}.js`] = `import "./m${n + 1}.js"; export default () => 1;`;
    expect(await problem({ file: await write(files) })).toMatch(/more than 64 modules/);
  });

  test("a tool cannot exceed the limits on its modules", async () => {
    const file = await write({
      "tool.js": `import "./big.js"; export default () => 1;`,
      "big.js": `// ${"x".repeat(2 ** 22)}`,
    });
    expect(await problem({ file })).toMatch(/'big.js' is larger than 4 MiB/);
  });

  test("a tool may be a single file of 4 MiB", async () => {
    const code = "export default () => 1; // ";
    const file = await write({ "tool.js": code + "x".repeat(2 ** 22 - code.length) });
    expect((await run({ file })).output).toBe(1);
    const larger = await write({ "tool.js": code + "x".repeat(2 ** 22 - code.length + 1) });
    expect(await problem({ file: larger })).toMatch(/'tool.js' is larger than 4 MiB/);
  });

  test("an inline tool cannot import modules", async () => {
    const source = `import "./x.js"; export default () => 1;`;
    expect(await problem({ source })).toMatch(/an inline source cannot import modules/);
  });
});

describe("the position of an error", () => {
  test("a syntax error is reported with file, line and column", async () => {
    const file = await write({
      "tool.js": `import "./broken.js";\nexport default () => 1;`,
      "broken.js": "const a = 1;\nconst b = ;\n",
    });
    expect(await problem({ file })).toMatch(/^ToolPreparationError: broken\.js:2:\d+: SyntaxError: /);
  });

  test("an error while a module is loaded is reported with file, line and column", async () => {
    const file = await write({ "tool.js": "export default () => 1;\n\n  throw new Error('not today');" });
    expect(await problem({ file })).toMatch(/^ToolPreparationError: tool\.js:3:\d+: Error: not today$/);
  });

  test("an error of a call is reported with file, line and column to the operator, but not to the model", async () => {
    const file = await write({
      "tool.ts": `import { check } from "./lib/check.ts";\nexport default (input: { n: number }) => check(input.n);`,
      "lib/check.ts": `export function check(n: number): void {\n  throw new RangeError(\`\${n} is too much\`);\n}`,
    });
    const { error, detail } = await run({ file }, { n: 9 });
    expect(error?.message).toBe("9 is too much");
    expect(detail).toMatch(/^RangeError: 9 is too much\n.*check.*lib\/check\.ts:2:\d+\)?\n.*tool\.ts:2:\d+/);
  });

  test.each<[string, string, string]>([
    ["an enum", "\nenum A { B }", "tool.ts:2:1"],
    ["a namespace", "namespace X { export const a = 1; }", "tool.ts:1:1"],
    ["a parameter property", "class A {\n  constructor(private x: number) {}\n}", "tool.ts:2:23"],
    ["a type that does not parse", "const x: = 1;", "tool.ts:1:10"],
  ])("an error of type stripping is reported with file, line and column: %s", async (_case, code, position) => {
    const file = await write({ "tool.ts": `${code}\nexport default () => 1;` });
    expect(await problem({ file })).toContain(`ToolPreparationError: ${position}: `);
  });
});
