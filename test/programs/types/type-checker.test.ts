import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { Programs, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const ran: unknown[] = [];
const read = tool("read", (input) => ran.push(input), {
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, mode: { enum: ["text", "bytes"] } },
    required: ["path"],
  },
  outputSchema: {
    type: "object",
    properties: { text: { type: "string" }, lines: { type: "integer" } },
    required: ["text"],
  },
  host: ((input: { readonly path: string }) => {
    ran.push(input);
    return { text: `text of ${input.path}`, lines: 1 };
  }) as never,
});
const untyped = tool("list-all", () => [1, 2]);
const programs = new Programs(sandboxes, { tools: [read, untyped], options: { typeCheck: true } });

async function run(code: string, language: "js" | "ts" = "ts") {
  ran.length = 0;
  const { error, output } = await programs.run(code, language);
  if (error === undefined) return { output };
  expect([error.code, error.effect, ran]).toEqual(["validation_error", "none", []]);
  return { message: error.message };
}

describe("A TypeScript program whose types are checked", () => {
  test.each([
    ["const n: number = 'a';\nreturn n;", "1:7: Type 'string' is not assignable to type 'number'."],
    [
      "const { text } = await tools.read({ path: 'a' });\n  return text.lenght;",
      "2:15: Property 'lenght' does not exist on type 'string'. Did you mean 'length'?",
    ],
    ["const path = [1][0];\nawait tools.read({ path })", "2:20: Type 'number"],
    ["let mode = 'text' as string; return tools.read({ path: 'a', mode: mode as 'txt' })", "1:61: "],
    ["tools.read({ path: missing })", "1:20: Cannot find name 'missing'."],
    ["async (tools) => (await tools.read({ path: 'a' })).size", "1:52: Property 'size' does not exist"],
    ["const { lines } = await tools.read({ path: 'a' }); return lines.toFixed()", "1:59: "],
    ["return process.env", "1:8: Cannot find name 'process': programs have what JavaScript has"],
    ["const fs = require('fs'); return fs", "1:12: Cannot find name 'require': programs have what"],
  ])("does not run if they do not fit: %j", async (code, problem) => {
    const { message } = await run(code);
    expect(message).toContain(`Invalid arguments: /code ${problem}`);
  });

  test("reads each problem, with its place", async () => {
    const { message } = await run("const a: string = 1;\nconst b: number = '';\nreturn a + b");
    expect(message).toContain("/code 1:7: Type 'number' is not assignable to type 'string'.");
    expect(message).toContain("/code 2:7: Type 'string' is not assignable to type 'number'.");
  });

  test.each([
    ["(await tools.read({ path: 'a', mode: 'bytes' })).text;", "text of a"],
    ["async (tools) => (await tools.read({ path: 'b' })).lines ?? 0", 1],
    ["interface A { readonly a: number }\nconst a: A = { a: 1 };\nreturn a as A satisfies A", { a: 1 }],
    ["const list = await tools['list-all'](); return list.length + 1", 3],
    ["const call = tools; return call.read({ path: 'a' })", { text: "text of a", lines: 1 }],
    ["try { throw new Error('no') } catch (error) { return error.message }", "no"],
    ["const sum = (a, b) => a + b; return sum(1, 2)", 3],
    ["return new URL('https://a.example/b').pathname.slice(1) + btoa('a')", "bYQ=="],
    ["const { search_tools } = tools; return (await search_tools({ query: 'read' }))[0].name", "read"],
  ])("runs if they fit: %j", async (code, output) => {
    expect(await run(code)).toEqual({ output });
  });

  test("is not checked if it is JavaScript", async () => {
    expect(await run("const n = { a: 1 }; return n.b ?? 2", "js")).toEqual({ output: 2 });
  });

  test.each([
    ["/// <reference path='/etc/passwd' />\nreturn 1"],
    ["import type { A } from '/etc/passwd';\nreturn 1"],
    ["type A = typeof import('/etc/hostname'); const a: A = 1; return a"],
    ["/* @ts-nocheck */ const a: string = 1; return a"],
  ])("cannot read other files, nor switch the check off: %j", async (code) => {
    const { message = "", output } = await run(code);
    if (output === undefined) expect(message).not.toMatch(/root:|localhost/);
    else expect(output).toBe(1);
  });

  test("cannot keep the compiler busy for long", async () => {
    const { message } = await run(
      "type L<N extends number, T extends 1[] = []> = T['length'] extends N ? T : L<N, [...T, 1]>;\n" +
        "type Fib<N extends 1[]> = N extends [1, ...infer M extends 1[]] ? M extends [1, ...infer K extends 1[]] ? [...Fib<M>, ...Fib<K>] : [1] : [];\n" +
        "const f: Fib<L<40>>['length'] = 3; return f",
    );
    expect(message).toContain("/code ");
  });

  test("reads few of many problems, however long they are", async () => {
    const wrong = `{ const a: 'x' = '${"y".repeat(500)}'; }\n`;
    const { message = "" } = await run(wrong.repeat(100));
    expect(message.match(/\/code \d+:9: /g)).toHaveLength(10);
    expect(message.length).toBeLessThan(6_000);
  });

  test("are many at once, and each has its result", async () => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        programs.run(`const n: ${index % 2 ? "number" : "string"} = 1; return n`, "ts"),
      ),
    );
    expect(results.map(({ error }) => error?.code)).toEqual(
      Array.from({ length: 12 }, (_, index) => (index % 2 ? undefined : "validation_error")),
    );
  });
});
