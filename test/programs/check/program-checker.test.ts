import { afterAll, describe, expect, test } from "vitest";
import { allow, ask } from "../../../src/policy/policy.ts";
// Inside: checks 200 programs at once without running them, to see in which order that is done.
import { ProgramChecker } from "../../../src/programs/check/program-checker.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { PreflightContext } from "../../../src/tool/tool-traits.ts";
import { Programs, tool } from "../harness.ts";

const CONTEXT: PreflightContext = {
  refusalOf: () => undefined,
  problemsOf: () => [],
  principal: undefined,
  signal: undefined,
};

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const ran: unknown[] = [];
const inputSchema = {
  type: "object",
  properties: {
    path: { type: "string" },
    lines: { type: "integer", minimum: 1 },
    options: { anyOf: [{ type: "object", required: ["a"] }, { type: "null" }] },
  },
  required: ["path"],
  additionalProperties: false,
};
const read = tool("read", (input) => ran.push(input), { inputSchema });
const hidden = tool("hidden", () => ran.push("hidden"), { visibleTo: () => false });
const programs = new Programs(sandboxes, { tools: [read, hidden], granted: ["read", "gone"] });

async function problem(code: string, language: "js" | "ts" = "js"): Promise<string | undefined> {
  ran.length = 0;
  const { error } = await programs.run(code, language);
  if (error !== undefined) expect(ran).toEqual([]);
  return error === undefined ? undefined : `${error.code} ${error.effect} ${error.message}`;
}

const INVALID = "validation_error none Invalid arguments: /code";

describe("A program that does not run", () => {
  test.each([
    ["tools.read({ path: 'a' })\nconst x = ;", "js", "2:11: Unexpected token"],
    ["await tools.read({ path: 'a' })\nlet s = 'x", "js", "2:9: Unterminated string constant"],
    ["import fs from 'node:fs'", "js", "1:1: there are no modules to import: call tools.<name>(input)"],
    ["const a: number = 1;\nconst b: = 2;", "ts", "2:10: "],
    ["const a = 1; const b: = 2;", "ts", "1:23: "],
    ["```js\nreturn 1\n```\n```", "js", "1:1: only a part of the code is in a Markdown fence (```)"],
    ["Do:\n```\nreturn 1\n```\nor\n```\nreturn 2\n```", undefined, "1:1: only a part of the code is in"],
    [
      "```python\nprint(1)\n```",
      undefined,
      "1:1: the Markdown fence says 'python': write JavaScript or TypeScript",
    ],
    ["const a = <b>1</b>;", undefined, "1:11: Unexpected token: JSX cannot be used"],
    ["async function main() {\n  return 1;\n", undefined, "3:1: the code ends in the middle"],
    ["const a: number = 1;", "js", '1:8: Unexpected token: TypeScript needs language: "ts"'],
    ["class A { async run() { return 1 } }", undefined, "1:1: a class is not a program"],
    ["export default class { run() {} }", undefined, "1:16: a class is not a program"],
    ["function* main() { yield 1 }", undefined, "1:1: a generator is not a program: return its values"],
    ["exports.a = () => 1;\nexports.b = () => 2;", undefined, "2:1: a program has one value"],
    ["```\nreturn 1\n```\n\n```\nreturn 2\n```", "ts", "1:1: only a part of the code is in a Markdown fence"],
    ["enum E { A }", "ts", "1:1: TypeScript enum is not supported in strip-only mode"],
  ] as const)("has %j as its code", async (code, language, message) => {
    expect(await problem(code, language)).toContain(`${INVALID} ${message}`);
  });

  test.each([
    [
      "await tools.read({ path: 'a' });\n  await tools.gone()",
      "2:9: Tool 'gone' not found. Available: [read]",
    ],
    [
      "if (false) tools['other']({})",
      "1:12: Permission denied: the calling tool is not allowed to call tool 'other'",
    ],
    ["const { read, other: x } = tools", "1:15: Permission denied"],
  ])("names what it may not call: %j", async (code, message) => {
    expect(await problem(code)).toContain(`${INVALID} ${message}`);
  });

  test.each([
    ["await tools.read({ path: 1 })", "1:26: tools.read: /path must be string"],
    ["await tools.read()", "1:7: tools.read: must have required property 'path'"],
    ["const lines = 1;\nawait tools.read({ lines })", "2:18: tools.read: must have required property 'path'"],
    [
      "const path = 'x';\nreturn tools.read({ path, line: 1 })",
      "2:19: tools.read: must NOT have additional properties: 'line'",
    ],
    [
      "return tools.read({ path: p(), lines: 0 }); function p() { return 'x' }",
      "1:39: tools.read: /lines must be >= 1",
    ],
    [
      "const r: unknown = await tools.read({ path: `a`, lines: -2 } as any)",
      "1:57: tools.read: /lines must be >= 1",
      "ts",
    ],
  ] as const)("has an input that cannot be right: %j", async (code, message, language?: "js" | "ts") => {
    expect(await problem(code, language)).toContain(`${INVALID} ${message}`);
  });

  test("has no person asked about it", async () => {
    const asked: unknown[] = [];
    const asking = new Programs(sandboxes, {
      decide: ({ tool: { name } }) =>
        name === "run_program"
          ? ask("Run it?", { grant: { sandbox: "quickjs", capabilities: { tools: ["*"] } } })
          : allow({ sandbox: "host" }),
      more: {
        confirm: async (request) => {
          asked.push(request);
          return { decision: "allow", by: "ann", arguments: { code: "tools.nowhere()" } };
        },
      },
    });
    expect((await asking.run("1 +")).error?.code).toBe("validation_error");
    expect(asked).toEqual([]);
    // What a person writes is checked like what the model wrote.
    expect((await asking.run("1 + 1")).error?.message).toContain("Tool 'nowhere' not found");
    expect(asked).toHaveLength(1);
  });
});

test.each([
  "tools.read({ path: String(1) })",
  "tools.read({ ...{ path: 'a' } })",
  "tools.read(...[{ path: 'a' }])",
  "const input = { path: 'a' }; return tools.read(input)",
  "tools.read({ path: 'a', options: { a: String(1) } })",
  "tools.read({ ['path']: 'a' })",
  "const list = [[1]]; return list.map((tools) => tools.map((x) => x))",
  "let tools2 = tools; return tools2.read({ path: 'a' })",
  "try { throw { x: 1 } } catch (tools) { return tools.x }",
  "tools.read({ path: 'a', lines: undefined })",
  "({ path: 'a' })",
  "function () { return 1 }",
])("a program that is right passes: %j", async (code) => {
  expect(await problem(code)).toBeUndefined();
});

test.each([
  ["functions in default values", `${"(a=".repeat(4_000)}1${")=>1".repeat(4_000)}`],
  ["an input with a long name", `tools.read({ ${"k".repeat(50_000)}: [${"1,".repeat(6_000)}] })`],
])("code is checked in time that does not grow with its square: %s", async (_, code) => {
  const checked = await new ProgramChecker().problemsOf({ code, language: "js" }, CONTEXT);
  expect(checked).toEqual([]);
});

test("programs of different principals are checked in turns", async () => {
  const checker = new ProgramChecker();
  const ended: string[] = [];
  const check = async (id: string): Promise<void> => {
    const context: PreflightContext = { ...CONTEXT, principal: { id, kind: "user" } };
    await checker.problemsOf({ code: "1", language: "js" }, context);
    ended.push(id);
  };
  await Promise.all([...Array.from({ length: 200 }, () => check("mallory")), check("ann")]);
  expect(ended.indexOf("ann")).toBeLessThan(100);
});

test("hostile code is refused in time, and later programs are checked", async () => {
  for (const code of [
    "(".repeat(60_000),
    "[".repeat(30_000),
    "a".repeat(60_000),
    `x = ${"-".repeat(3)}${" ".repeat(60_000)}y;z(`,
    "async () => ".repeat(5_000),
    `${"{".repeat(20_000)}${"}".repeat(20_000)}`,
    "`${".repeat(20_000),
    "\u0000",
    "\ud800",
  ]) {
    for (const language of ["js", "ts"] as const) {
      const { error, success } = await programs.run(code, language);
      expect(success || (error?.message.length ?? 0) > 0).toBe(true);
    }
  }
  expect(await problem("1")).toBeUndefined();
});
