import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { Programs, textOf, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const add = tool("add", ({ a, b }) => (a as number) + (b as number));
const fails = tool("fails", () => {
  throw new ToolFailure("execution_error", "out of paper");
});

test.each([
  "1 + 2",
  "await tools.add({ a: 1, b: 2 })",
  "tools.add({ a: 1, b: 2 });",
  "return 3",
  "const { add } = tools; return await add({ a: 1, b: 2 });",
  "async () => tools.add({ a: 1, b: 2 })",
  "async (tools) => {\n  return await tools.add({ a: 1, b: 2 });\n};  ;",
  "(async () => 3)()",
  "const x = 3; // }) {\nreturn x;",
])("a program is an expression, a function or the body of one: %j", async (code) => {
  const { output, error } = await new Programs(sandboxes, { tools: [add] }).run(code);
  expect([output, error]).toEqual([3, undefined]);
});

test("types are removed from TypeScript, on the lines where they are", async () => {
  const programs = new Programs(sandboxes, { tools: [add] });
  const { output } = await programs.run(
    "interface Sum { a: number; b: number }\nconst sum: Sum = { a: 1, b: 2 };\nreturn await tools.add(sum) as number;",
    "ts",
  );
  expect(output).toBe(3);
  const { error } = await programs.run("const x: any = null;\n  x.y", "ts");
  expect(error?.message).toMatch(/\(line 2, column \d+\)$/);
});

test("an error of a call has its code and message, and one that is not caught has its place", async () => {
  const programs = new Programs(sandboxes, { tools: [add, fails] });
  const caught = await programs.run(
    "try { await tools.fails() } catch ({ code, message }) { return [code, message] }",
  );
  expect(caught.output).toEqual(["execution_error", "out of paper"]);
  const thrown = await programs.run("const a = 1;\n\nthrow new Error('no')");
  expect(thrown.error?.message).toMatch(/^no \(line 3, column \d+\)$/);
});

test("the model reads which calls were not made, as the program ended without awaiting them", async () => {
  const programs = new Programs(sandboxes, { tools: [add] });
  const text = (names: string) =>
    `Log:\n[warn] not made: the call of the tool '${names}', since the code ended without awaiting it\nCalls made: none`;
  const unawaited = "tools.add({ a: 1, b: 2 }); tools.add({ a: 2, b: 2 });";
  expect(textOf(await programs.run(`${unawaited} return "done";`))).toBe(`done\n${text("add")}`);
  expect(textOf(await programs.run(`${unawaited} throw "no";`))).toBe(`no\n${text("add")}`);
});

test("an error without a place in the program has none", async () => {
  const { error } = await new Programs(sandboxes).run("return await import('node:fs')");
  expect(error?.message).toMatch(/ cannot be imported: [^()]*$/);
});

test("a tool can have any name", async () => {
  const names = ["a-b", "then", "constructor", "__proto__", "toString", "ümläut", "call", "1"];
  const programs = new Programs(sandboxes, { tools: names.map((name) => tool(name, () => name)) });
  const { output, error } = await programs.run(
    `return Promise.all(${JSON.stringify(names)}.map((name) => tools[name]({})))`,
  );
  expect([output, error]).toEqual([names, undefined]);
});

describe("A program that lists its tools", () => {
  const names = ["b", "a", "__proto__", "2", "1"];
  const tools = names.map((name) => tool(name, () => name));

  test("gets the names of those that it can call, and can look for one", async () => {
    const programs = new Programs(sandboxes, { tools: [...tools, add], granted: ["a*", "b", "__proto__"] });
    const { output, error } = await programs.run(`
      const listed = []; for (const name in tools) listed.push(name);
      return [Object.keys(tools), listed, Object.entries(tools).map(([name, call]) => typeof call),
        "a" in tools, "2" in tools, "gone" in tools, Object.hasOwn(tools, "b"), Object.hasOwn(tools, "gone")];`);
    const found = ["b", "a", "__proto__", "add"];
    expect(error).toBeUndefined();
    expect(output).toEqual([found, found, found.map(() => "function"), true, false, false, true, false]);
  });

  test("can call what it listed, also with a spread or a destructured rest", async () => {
    const programs = new Programs(sandboxes, { tools, granted: ["a", "b"] });
    const { output } = await programs.run(`
      const { a, ...rest } = tools;
      return [await Promise.all(Object.values({ ...tools }).map((call) => call({}))), Object.keys(rest)];`);
    expect(output).toEqual([["b", "a"], ["b"]]);
  });

  test("lists the tools of the call for which it was granted them, however the globals were changed", async () => {
    const programs = new Programs(sandboxes, { tools, granted: ["b", "run_program"] });
    const { output } = await programs.run(`
      JSON.parse = () => ["stolen"]; Reflect.ownKeys = () => ["stolen"]; Array.prototype[Symbol.iterator] = null;
      return Object.keys(tools).join();`);
    expect(output).toBe("b,run_program");
  });

  test("cannot change what is listed", async () => {
    const programs = new Programs(sandboxes, { tools, granted: ["a"] });
    const { output } = await programs.run(`
      "use strict";
      const tried = (change) => { try { change(); return "changed"; } catch ({ name }) { return name; } };
      const all = tools;
      return [tried(() => { all.x = 1; }), tried(() => { delete all.a; }),
        tried(() => Object.defineProperty(all, "x", { value: 1 })), tried(() => Object.freeze(all)),
        Object.keys(tools)];`);
    expect(output).toEqual(["TypeError", "TypeError", "TypeError", "TypeError", ["a"]]);
  });
});

test("a program that awaits tools itself fails at once", async () => {
  const { error } = await new Programs(sandboxes).run("const all = await tools; return 1");
  expect(error?.message).toContain("tools is not a promise");
});

describe("The model reads", () => {
  test("the result, a line for each call, and the log", async () => {
    const programs = new Programs(sandboxes, {
      tools: [add, fails, tool("save", () => null, { sideEffects: "write" })],
    });
    const execution = await programs.run(`
      console.log("adding");
      const sum = await tools.add({ a: 1, b: 2 });
      await tools.save({ sum });
      await tools.fails().catch(() => console.warn("no paper"));
      return { sum };`);
    expect(textOf(execution)).toBe(
      [
        '{"sum":3}',
        "Log:",
        "adding",
        "[warn] no paper",
        "Calls made:",
        "- add: allowed, effect none",
        "- save: allowed, effect committed",
        "- fails: allowed, failed (execution_error), effect none",
      ].join("\n"),
    );
  });

  test("what was done before a program failed, was stopped, or ran out of time", async () => {
    const programs = new Programs(sandboxes, { tools: [add], limits: { wallTimeMs: 1_500 } });
    for (const end of ["throw 1", "for (;;);", "await new Promise(() => {})", "await null; for (;;);"]) {
      const execution = await programs.run(`await tools.add({ a: 1, b: 2 }); ${end}`);
      expect(execution.success).toBe(false);
      expect(textOf(execution)).toContain("\nCalls made:\n- add: allowed, effect none");
    }
  });

  test("a thousand calls within the budget of the context", async () => {
    const programs = new Programs(sandboxes, {
      tools: [add],
      limits: { nestedCalls: 2_000 },
      more: { resultBudget: { chars: 2_000 } },
    });
    const execution = await programs.run(
      "await Promise.all(Array.from({ length: 1000 }, (_, a) => tools.add({ a, b: 1 }))); return 'x'.repeat(9000)",
    );
    const text = textOf(execution);
    expect(execution.success).toBe(true);
    // The blocks of text stand on lines of their own.
    expect(text.length).toBeLessThanOrEqual(2_001);
    expect(execution.work?.omittedCalls).toBe(900);
    expect(text).toContain("- add: allowed, effect none");
    expect(text).toContain("characters left out");
  });
});
