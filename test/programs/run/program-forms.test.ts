import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { Programs, textOf, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const add = tool("add", ({ a, b }) => (a as number) + (b as number), {
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
});
const fails = tool("fails", () => {
  throw new ToolFailure("execution_error", "out of paper");
});
const programs = new Programs(sandboxes, { tools: [add, fails] });
const run = (code: string): Promise<ToolExecution> => programs.call("run_program", { code });
/** The lines of a log without their levels. */
const linesOf = (log: readonly string[] = []): readonly string[] =>
  log.map((line) => line.replace(/^\[\w+\] /, ""));
const ADD = "tools.add({ a: 1, b: 2 })";

describe("A program in a form that models write has the result that is meant", () => {
  test.each([
    // Expressions and functions.
    ADD,
    `await ${ADD}`,
    `async () => ${ADD}`,
    `async () => { return await ${ADD}; }`,
    `async (tools) => { const x = await ${ADD}; return x; };`,
    `async function main() { return await ${ADD}; }`,
    `function main() { return ${ADD}; }`,
    `(async () => { return await ${ADD}; })()`,
    `(async () => { return await ${ADD}; })();\n`,
    `(async function () { return await ${ADD}; })();`,
    // Statements and a last expression.
    `const x = await ${ADD};\nx`,
    `const x = await ${ADD};\nx;`,
    `const x = await ${ADD}; x // the sum`,
    `const x = await ${ADD};;\n\n// The sum:\nx;\n/* done */`,
    `const sum = ${ADD};\nawait sum;`,
    `let sum = 0;\nfor (const i of [1, 2]) sum += i;\n(sum)`,
    `const x = await ${ADD}\nx`,
    `'use strict';\n${ADD};`,
    // Functions that are called, or are not.
    `async function main() { return await ${ADD}; }\nmain();`,
    `async function main() { return await ${ADD}; }\nawait main();`,
    `const main = async () => { return await ${ADD}; };\nmain()`,
    `const main = async () => ${ADD};`,
    `const helper = (n) => n;\nasync function main() { return helper(await ${ADD}); }`,
    `const one = 1;\n(async () => { return await ${ADD}; })();`,
    `const main = async () => ${ADD};\nmain().then((sum) => sum).catch(console.error);`,
    // Modules.
    `export default ${ADD}`,
    `export default async () => ${ADD};`,
    `export default async function () { return ${ADD}; }`,
    `export default async function main() { return await ${ADD}; }\nconst unused = 1;`,
    `export default {\n  sum: 3,\n}.sum`,
    `export const x = await ${ADD};\nx`,
    `const x = 3;\nexport default x;`,
    `async function main() { return await ${ADD}; }\nexport { main as default };`,
    `export default { async run(tools) { return await ${ADD}; } }`,
    `module.exports = async () => ${ADD};`,
    `async function main() { return await ${ADD}; }\nmodule.exports = { main };`,
    `exports.main = async () => { return await ${ADD}; };`,
    `async function main() { return await ${ADD}; }\nif (require.main === module) { main(); }`,
    `export default async function main(): Promise<number> { return await ${ADD}; }`,
    `export async function run(tools: any): Promise<number> { return await ${ADD}; }`,
    // Functions that are only started, and those that take an object.
    `!async function () { return await ${ADD}; }()`,
    `const x = ${ADD};\nvoid (async () => await x)();`,
    `async ({ tools }) => ${ADD}`,
    `async function run({ tools }) { return await ${ADD}; }`,
    `#!/usr/bin/env node\nawait ${ADD}`,
    // Fences.
    `Here is the program:\n\n\`\`\`js\nawait ${ADD}\n\`\`\`\nIt adds two numbers.`,
    `\`\`\`js\nawait ${ADD}\n\`\`\`\nDone.`,
    `const fence = "\`\`\`js";\nfence.indexOf("j")`,
    `\`\`\`js\nreturn await ${ADD};\n\`\`\``,
    `\`\`\`\nawait ${ADD}\n\`\`\`\n`,
    `\n\`\`\`javascript\nconst x = await ${ADD};\nx\n\`\`\``,
    `\`\`\`typescript\nconst x: number = await ${ADD};\nreturn x;\n\`\`\``,
    `\`\`\`ts\nconst x: number = await ${ADD};\nx\n\`\`\``,
    `~~~js\n${ADD}\n~~~`,
    // TypeScript without a language.
    `const x: number = await ${ADD};\nreturn x;`,
    `interface Sum { value: number }\nconst sum: Sum = { value: await ${ADD} };\nsum.value`,
    `async (): Promise<number> => ${ADD}`,
    `const list = [3] as const; list[0] satisfies number`,
  ])("%j", async (code) => {
    const { output, error } = await run(code);
    expect([output, error]).toEqual([3, undefined]);
  });

  test.each([
    ["const a = 1;\na", ["note: the value of the last expression is the result"]],
    ["```\n1\n```", ["note: the Markdown fence around the code was left out"]],
    [
      "async function go() { return 1 }\nconst x = 2;\ngo()",
      ["note: the value of the last expression is the result"],
    ],
    ["const go = () => 1;", ["note: the function 'go' was called with tools, and its value is the result"]],
    ["// nothing", ["note: the code has no statement, so that nothing was run"]],
    [
      "async function a() {}\nasync function b() {}",
      [expect.stringContaining("only declares 'a' and 'b', and calls neither, so that nothing was run")],
    ],
    [
      "if (true) { 3 } else { 4 }",
      ["note: the program has no result: end it with an expression or 'return'"],
    ],
    ["if (true) { return 3 }", []],
    ["return\n{ a: 1 }", [expect.stringContaining("'return' stands alone in its line")]],
    ["setTimeout(() => {}, 10)", [expect.stringContaining("timers are not waited for")]],
    ["'const x = 1; return x'", [expect.stringContaining("the code is only a text")]],
    [
      "void (async () => {})();\nreturn 1",
      [
        "note: the operator before the function in line 1 was left out",
        "note: the promise of the call in line 1 is awaited at the end",
      ],
    ],
    ["export default 1", ["note: what is exported by default is the program"]],
    ["const x: number = 1; return x", [expect.stringContaining("note: the code was read as TypeScript")]],
    ["const x = 1;", [expect.stringContaining("so it has no result: end it with an expression or 'return'")]],
    ["return 1", []],
    ["1", []],
    ["const x = 1; return x;", []],
  ])("the log says what was done: %j", async (code, notes) => {
    const { work } = await run(code);
    expect(linesOf(work?.log)).toEqual(notes);
  });

  test("an object without parentheses at the end is the result, and a block is none", async () => {
    expect((await run("const [x, y] = [1, 2];\n{ x, y }")).output).toEqual({ x: 1, y: 2 });
    expect((await run("const x = 1;\n{ const y = x; }")).output).toBe(null);
  });

  test.each([
    ["add({ a: 1 })", "'add' is not defined: did you mean tools.add? (line 1"],
    ["callTool('add', {})", "'callTool' is not defined: call a tool with tools.<name>(input)"],
    ["require('fs')", "'require' is not defined: there are no modules to load"],
    ["const a = 1;\nprint(a)", "'print' is not defined: write to the log with console.log (line 2"],
    ["nothing", "'nothing' is not defined (line 1"],
  ])("what is not defined is said with what there is in its place: %s", async (code, message) => {
    expect((await run(code)).error?.message).toContain(message);
  });

  test("lines and columns of errors stay", async () => {
    expect((await run("const a = null;\n  a.b")).error?.message).toMatch(/\(line 2, column [45]\)$/);
    expect((await run("```js\nconst a = null;\nreturn a.b\n```")).error?.message).toMatch(/\(line 3, column/);
    expect((await run("enum A { B }\nreturn A.B")).error?.message).toContain(
      "/code 1:1: TypeScript enum is not",
    );
    expect((await run("const a = 1;\nconst b = ;")).error?.message).toContain("/code 2:11: Unexpected token");
    expect((await run("const a = 1;\ntools.gone()")).error?.message).toContain(
      "/code 2:1: Tool 'gone' not found",
    );
  });

  test("a call of an asynchronous function that nothing awaits is awaited at the end", async () => {
    const { output, work } = await run(
      `async function main() { await ${ADD}; console.log("added"); }\nmain();\nconsole.log("begun");\nreturn 1;`,
    );
    expect(output).toBe(1);
    const lines = linesOf(work?.log);
    expect(lines.slice(-2)).toEqual(["begun", "added"]);
    expect((await run("(async () => { throw new Error('no') })();\nreturn 1")).error?.message).toMatch(/^no/);
  });

  test("promises in a result are awaited, however deep", async () => {
    const { output } = await run(
      `return { a: ${ADD}, list: [${ADD}, { b: Promise.resolve(${ADD}) }], c: 1 }`,
    );
    expect(output).toEqual({ a: 3, list: [3, { b: 3 }], c: 1 });
    expect((await run("return { a: tools.fails() }")).error?.message).toContain("out of paper");
    // Beside a promise, too, nothing is lost in silence.
    for (const lost of ["new Map([[1, 2]])", "new Set([1])", "new Uint8Array([1])", "[1].values()"]) {
      const { error } = await run(`return { a: ${ADD}, lost: ${lost} }`);
      expect(error?.message).toMatch(/ at \/lost, which is not JSON-serialisable/);
    }
  });
});

describe("What went wrong is in the results and the log of a program", () => {
  const failure = { name: "ToolCallError", message: "out of paper", code: "execution_error" };

  test.each([
    ["try { await tools.fails() } catch (e) { return e }", failure],
    ["try { await tools.fails() } catch (e) { return { e } }", { e: failure }],
    ["return await Promise.allSettled([tools.fails()])", [{ status: "rejected", reason: failure }]],
    [
      "return new TypeError('no', { cause: new Error('why') })",
      { name: "TypeError", message: "no", cause: { name: "Error", message: "why" } },
    ],
    [
      "return new AggregateError([new Error('a')], 'all')",
      { name: "AggregateError", message: "all", errors: [{ name: "Error", message: "a" }] },
    ],
  ])("%s", async (code, output) => {
    expect((await run(code)).output).toMatchObject(output);
  });

  test.each([
    [
      "try { await tools.fails() } catch (e) { console.log(e) }",
      'ToolCallError: out of paper {"code":"execution_error"}',
    ],
    [
      "try { await tools.fails() } catch (e) { console.error('failed', { e }) }",
      'failed {"e":{"name":"ToolCallError","message":"out of paper","code":"execution_error"}}',
    ],
    [
      "console.log(new Error('a', { cause: new Error('b') }))",
      'Error: a {"cause":{"name":"Error","message":"b"}}',
    ],
    [
      "console.log(new AggregateError([new Error('b')], 'a'))",
      'AggregateError: a {"errors":[{"name":"Error","message":"b"}]}',
    ],
    [
      "console.log(await Promise.allSettled([Promise.reject(new Error('a'))]))",
      '[{"status":"rejected","reason":{"name":"Error","message":"a"}}]',
    ],
    ["console.log(new Map([['a', new Map([[1, 2]])]]))", '{"Map(1)":[["a",{"Map(1)":[[1,2]]}]]}'],
    ["console.log({ s: new Set([1, 'x']) })", '{"s":{"Set(2)":[1,"x"]}}'],
    ["console.log(NaN, -Infinity, [NaN], 10n, { n: 1n })", 'NaN -Infinity ["NaN"] 10n {"n":"1n"}'],
    ["const a = { b: 1 }; a.a = a; console.log(a)", '{"b":1,"a":"[circular]"}'],
    [
      "console.log({ a: [1, null, 'x'], u: undefined }, undefined, null, new Date(0))",
      '{"a":[1,null,"x"]} undefined null "1970-01-01T00:00:00.000Z"',
    ],
  ])("in the log: %s", async (code, line) => {
    const { work } = await run(`${code}\nreturn 1`);
    expect(linesOf(work?.log).at(-1)).toBe(line);
  });

  test("an error whose parts throw does not end the program", async () => {
    const hostile = "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw 1 } });";
    expect((await run(`${hostile} console.log(e); return 1`)).output).toBe(1);
  });
});

describe("A program that calls tools in the wrong way is told so", () => {
  test("beyond its limit no call is made, and the limit is named", async () => {
    const small = new Programs(sandboxes, { tools: [add], limits: { nestedCalls: 16 } });
    const execution = await small.run(
      `return await Promise.all(Array.from({ length: 30 }, (_, a) => tools.add({ a, b: 1 })))`,
    );
    expect(textOf(execution)).toContain("this code may make at most 16 calls of tools (nestedCalls)");
    expect(textOf(execution)).toContain(
      "since the code ended as a call was refused that is beyond its limit of 16 calls",
    );
    expect(textOf(execution)).not.toContain("without awaiting");
  });

  test("a misspelt tool is one that does not exist, with the name that is meant", async () => {
    const granted = new Programs(sandboxes, { tools: [add, fails], granted: ["add"] });
    const { error } = await granted.run("const name = 'ad' + 'dd'; return await tools[name]({})");
    expect(error?.message).toContain("Tool 'addd' not found: did you mean 'add'? Available: [add]");
    expect((await granted.run("return await tools.addd({})")).error?.message).toContain(
      "did you mean 'add'?",
    );
  });

  test("`tools` as a text, or as JSON, calls no tool", async () => {
    for (const code of ["`$" + "{tools}`", "tools + ''", "JSON.stringify(tools)", "return { tools }"]) {
      const { error, work } = await run(code);
      expect(error?.message).toContain("tools has no value: call one of its members");
      expect(work?.calls ?? []).toEqual([]);
    }
    expect((await run("tools.hasOwnProperty('add')")).output).toBe(true);
    expect((await run("typeof tools.toString()")).output).toBe("string");
  });

  test("invalid arguments of a call name its tool", async () => {
    const { error } = await run("const input = JSON.parse('{}'); return await tools.add(input)");
    expect(error?.message).toContain("Invalid arguments of 'add': must have required property 'a'");
  });

  test("the description has an example, the number of calls, and what the result is", () => {
    const { description } = programs.registry.get("run_program");
    expect(description).toMatch(/can make 16 calls/);
    expect(description).toMatch(/value of the last expression, is the result/);
    expect(description).toMatch(/Example:\n/);
  });
});
