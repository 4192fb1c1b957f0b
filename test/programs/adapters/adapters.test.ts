import type Anthropic from "@anthropic-ai/sdk";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { CodeExecutor } from "../../../src/programs/code-executor.ts";
import {
  readAllowedCallers,
  toAiSdkTool,
  withAllowedCallers,
} from "../../../src/programs/provider-adapters.ts";
import { anthropicMessagesProtocol } from "../../../src/protocols/providers/anthropic.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { Programs, tool } from "../harness.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const add = tool("add", ({ a, b }) => (a as number) + (b as number));

describe("toAiSdkTool", () => {
  test("lets a model of the SDK run programs, and read what they did", async () => {
    const { context } = new Programs(sandboxes, { tools: [add] });
    const prompts: string[] = [];
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    };
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt, tools }) => {
        prompts.push(JSON.stringify([prompt, tools]));
        if (prompts.length > 1) {
          return {
            content: [{ type: "text", text: "3" }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          };
        }
        const input = JSON.stringify({ code: "return tools.add({ a: 1, b: 2 })" });
        const content = [{ type: "tool-call" as const, toolCallId: "1", toolName: "run_program", input }];
        return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
      },
    });
    const run_program = toAiSdkTool(context, { declarations: { tools: ["add"] } });
    const { text } = await generateText({
      model,
      prompt: "What is 1 + 2?",
      tools: { run_program: run_program as never },
      stopWhen: stepCountIs(3),
    });
    expect(text).toBe("3");
    expect(prompts[0]).toContain("declare const tools: {");
    expect(prompts[1]).toContain("- add: allowed, effect none");
  });

  test("throws if the toolset is not registered", () => {
    const { context } = new Programs(sandboxes, { options: { prefix: "my_" } });
    expect(() => toAiSdkTool(context)).toThrow(TypeError);
    expect(toAiSdkTool(context, { prefix: "my_" }).description).toContain("tools.my_search_tools");
  });
});

test("allowed_callers say who may call a tool, and are read as they are written", () => {
  const { registry } = new Programs(sandboxes, { tools: [add, tool("read", () => null)] });
  const { tools } = anthropicMessagesProtocol(registry).toTools();
  const mapped = withAllowedCallers(tools, { direct: ["run_program", "read"], programs: ["add", "read"] });
  // The types of the SDK accept them.
  const definitions: Anthropic.Tool[] = mapped as Anthropic.Tool[];
  expect(definitions.map(({ name, allowed_callers }) => [name, allowed_callers])).toEqual([
    ["add", ["code_execution_20260120"]],
    ["read", ["direct", "code_execution_20260120"]],
    ["run_program", ["direct"]],
  ]);
  expect(readAllowedCallers(definitions)).toEqual({
    direct: ["read", "run_program"],
    programs: ["add", "read"],
  });
  expect(readAllowedCallers([{ name: "x" }])).toEqual({ direct: ["x"], programs: [] });
});

describe("CodeExecutor", () => {
  const executor = new CodeExecutor({ sandboxes, limits: { wallTimeMs: 500 } });
  const fns = {
    add: async (input: unknown) => {
      const { a, b } = input as { readonly a: number; readonly b: number };
      return a + b;
    },
    fail: async () => {
      throw new ToolFailure("execution_error", "out of paper");
    },
    both: async (...args: unknown[]) => args,
  };

  test("runs code over functions and providers, with their logs", async () => {
    const code = "async () => { console.log('hi'); return await codemode.add({ a: 1, b: 2 }); }";
    expect(await executor.execute(code, fns)).toEqual({ result: 3, logs: ["hi"] });
    expect(
      await executor.execute("async () => [await math.both(1, 'x'), math.two()]", [
        { name: "math", fns, prelude: "math.two = () => 2;" },
      ]),
    ).toEqual({ result: [[1, "x"], 2] });
  });

  test.each([
    ["async () => codemode.fail()", "out of paper"],
    ["async () => { throw new Error('x') }", "x"],
    ["async () => codemode.gone()", "not found"],
    ["async () => {", "Invalid arguments"],
    ["async () => { for (;;); }", "500ms"],
  ])("returns the error of %j", async (code, message) => {
    const { result, error } = await executor.execute(code, fns);
    expect(result).toBeUndefined();
    expect(error).toContain(message);
  });

  test("redacts what a function throws and did not mean for the model, unless it is to pass it on", async () => {
    const broken = { fail: () => Promise.reject(new Error("the password is hunter2")) };
    const code = "async () => codemode.fail()";
    const open = new CodeExecutor({ sandboxes, unhandledErrors: "message" });
    expect((await new CodeExecutor({ sandboxes }).execute(code, broken)).error).toMatch(
      /^Tool failed \(reference [0-9a-f]{6}\)/,
    );
    expect((await open.execute(code, broken)).error).toContain("the password is hunter2");
  });

  test("checks the code of all its executions in one thread", async () => {
    const one = new CodeExecutor({ sandboxes });
    expect((await one.execute("() => 1")).result).toBe(1);
    let threads = 0;
    const count = (): void => void threads++;
    process.on("worker", count);
    try {
      for (let i = 0; i < 3; i++) expect((await one.execute(`() => ${i}`)).result).toBe(i);
    } finally {
      process.off("worker", count);
    }
    expect(threads).toBe(0);
  });

  test("returns an error for functions that cannot be tools", async () => {
    expect((await executor.execute("() => 1", [{ name: "a-b", fns }])).error).toContain("identifier");
    expect((await executor.execute("() => 1", { "a b": fns.fail })).error).toContain("a b");
    for (const name of ["tools", "main"]) {
      expect((await executor.execute("() => 1", [{ name, fns }])).error).toContain(`not be '${name}'`);
    }
  });
});

test("CodeExecutor compiles the same functions once, and sees functions that were replaced", async () => {
  const register = vi.spyOn(ToolRegistry.prototype, "register");
  onTestFinished(() => register.mockRestore());
  const executor = new CodeExecutor({ sandboxes });
  const code = "async () => await codemode.count()";
  const fns = { count: async () => 1 };
  expect(await executor.execute(code, fns)).toEqual({ result: 1 });
  const registered = register.mock.calls.length;
  expect(registered).toBeGreaterThan(0);
  expect(await executor.execute(code, { ...fns })).toEqual({ result: 1 });
  expect(register.mock.calls.length).toBe(registered);
  fns.count = async () => 2;
  expect(await executor.execute(code, fns)).toEqual({ result: 2 });
});
