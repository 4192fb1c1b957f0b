import { describe, expect, test } from "vitest";
import type { AskUser, QuestionReply, QuestionRequest } from "../../../src/engine/call/confirmation.ts";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { Sandbox, SandboxRouter } from "../../../src/sandboxes/contract/sandbox.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { Question } from "../../../src/tool/question.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const NOBODY = "Permission denied: nobody is available to answer the question";

/** A tool that asks, and returns the answer. */
const asking = (question: unknown, more: Partial<Tool> = {}): Tool =>
  hostTool((_input, { ask }) => ask(question as Question & { multiple?: false }), {
    sideEffects: "none",
    ...more,
  });

const answering = (reply: unknown): { ask: AskUser } => ({ ask: async () => reply as QuestionReply });

describe("A tool that asks", () => {
  test("gets what a person answers", async () => {
    const requests: QuestionRequest[] = [];
    const ask: AskUser = async (request) => {
      requests.push(request);
      return { decision: "answer", by: "ann", answer: "b" };
    };
    const question = { question: "Which?", choices: ["a", "b"], timeoutMs: 5 };
    const principal = { id: "agent", kind: "agent" } as const;
    const ctx = await contextFor([asking(question)], { ask, turnId: "t", messageId: "m", principal });
    const execution = await dispatchTool(ctx);
    expect(execution).toMatchObject({ success: true, output: "b" });
    expect(execution.questions).toEqual([{ by: "ann", decision: "answer", digest: requests[0]?.digest }]);
    expect(Object.isFrozen(execution.questions)).toBe(true);
    expect(requests).toEqual([
      {
        callId: "call",
        sessionId: "session",
        turnId: "t",
        messageId: "m",
        principal,
        ...question,
        multiple: false,
        tool: expect.objectContaining({ name: "tool" }),
        digest: expect.stringMatching(/^[\da-f]{64}$/),
      },
    ]);
    expect(Object.isFrozen(requests[0])).toBe(true);
  });

  test("has an execution that names the people who answered or declined, and no others", async () => {
    const replies: readonly unknown[] = [
      { decision: "answer", by: "ann", answer: "yes" },
      { decision: "answer", by: 7, answer: "yes" },
      { decision: "answer", by: "mallory", answer: "" },
      { decision: "timeout", afterMs: 1 },
      { decision: "deny", by: "bob" },
    ];
    const tool = hostTool(async (_, context) => {
      for (const index of replies.keys()) await context.ask({ question: `${index}` }).catch(() => {});
    });
    let asked = 0;
    const ask: AskUser = async () => replies[asked++] as QuestionReply;
    const { questions } = await dispatchTool(await contextFor([tool], { ask }));
    expect(questions).toMatchObject([
      { by: "ann", decision: "answer" },
      { by: "bob", decision: "deny" },
    ]);
    expect((await dispatchTool(await contextFor([hostTool(() => 1)]))).questions).toBeUndefined();
  });

  test("asks under another digest whenever anything else is shown", async () => {
    const digests: string[] = [];
    const ask: AskUser = async ({ digest }) => {
      digests.push(digest);
      return { decision: "answer", by: "ann", answer: "a" };
    };
    const tool = hostTool(async (_input, context) => {
      await context.ask({ question: "a" });
      await context.ask({ question: "a" });
      await context.ask({ question: "b" });
      await context.ask({ question: "b", choices: ["a"] });
      await context.ask({ question: "b", choices: ["a", "b"] });
    });
    for (const more of [{}, { turnId: "t" }]) await dispatchTool(await contextFor([tool], { ask, ...more }));
    expect(digests).toHaveLength(10);
    expect(new Set(digests).size).toBe(10);
  });

  test.each<[string, Partial<DispatchContext>]>([
    ["nobody can be asked", {}],
    ["nobody is there", answering({ decision: "nobody" })],
    ["the context's function returns nothing", answering(undefined)],
    ["the reply is unknown", answering({ decision: "allow", by: "eve" })],
    ["the answer is not one of the choices", answering({ decision: "answer", by: "eve", answer: "c" })],
    [
      "the context's function fails",
      {
        ask: () => {
          throw new Error("/home/ann/secret");
        },
      },
    ],
  ])("fails with permission_denied if %s", async (_, more) => {
    const question = { question: "?", choices: ["a", "b"] };
    const execution = await dispatchTool(await contextFor([asking(question)], more));
    expect(execution.error).toMatchObject({ code: "permission_denied", message: NOBODY, effect: "none" });
    const writing = await contextFor([asking(question, { sideEffects: "write" })], more);
    expect((await dispatchTool(writing)).error).toMatchObject({
      code: "permission_denied",
      effect: "unknown",
    });
  });

  test("fails as its own error if the question is invalid, without asking", async () => {
    let count = 0;
    const ask: AskUser = async () => {
      count++;
      return { decision: "nobody" };
    };
    const execution = await dispatchTool(await contextFor([asking({ question: "" })], { ask }));
    expect(execution.error).toMatchObject({ code: "execution_error" });
    expect(count).toBe(0);
  });

  test("is answered once, though the reply is another one each time that it is read", async () => {
    let times = 0;
    const reply = {
      decision: "answer",
      by: "ann",
      get answer() {
        return ++times === 1 ? "a" : "nonsense";
      },
    };
    const ctx = await contextFor([asking({ question: "?", choices: ["a"] })], answering(reply));
    expect(await dispatchTool(ctx)).toMatchObject({ output: "a" });
  });
});

describe("The question of a nested call", () => {
  const outer = (body: string): Tool => ({
    name: "outer",
    description: "",
    inputSchema: { type: "object" },
    quickjs: { source: `export default async (input, { tools }) => { ${body} }` },
  });

  test("names its parent, and stops the wall time of the callers, too", async () => {
    await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
    const requests: QuestionRequest[] = [];
    const ask: AskUser = async (request) => {
      requests.push(request);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return { decision: "answer", by: "ann", answer: "yes" };
    };
    const policy = {
      check: ({ tool }: { tool: { name: string } }) =>
        tool.name === "outer"
          ? allow({ sandbox: "quickjs", limits: { wallTimeMs: 2_500 }, capabilities: { tools: ["*"] } })
          : allow({ sandbox: "host", limits: { wallTimeMs: 2_500 } }),
    };
    const tools = [outer(`return tools.call("tool", {});`), asking({ question: "?" })];
    const ctx = await contextFor(tools, { sandboxes, policy, ask });
    const execution = await new ToolDispatchEngine().dispatch({ id: "c", name: "outer", arguments: {} }, ctx);
    expect(execution).toMatchObject({ success: true, output: "yes" });
    expect(requests).toMatchObject([{ callId: "c/1", parent: "c" }]);
  });

  test("is denied if the wall time of its caller cannot stand still", async () => {
    let count = 0;
    const ask: AskUser = async () => {
      count++;
      return { decision: "answer", by: "ann", answer: "yes" };
    };
    await using real = await openSandboxes({ workers: { threads: 1 } });
    const blocked: Sandbox = {
      mode: "wasm",
      capabilities: new Set(["tools"]),
      defaults: {},
      unenforceable: () => undefined,
      prepare: async () => {},
      async run({ callTool }) {
        const call = { name: "tool", input: "{}" };
        const result = await callTool?.(call, { signal: new AbortController().signal, wallTimeMs: 1_000 });
        return {
          status: "completed",
          effect: "none",
          used: { wallTimeMs: 1 },
          output: JSON.stringify(result),
        };
      },
      close: async () => {},
    };
    const sandboxes: SandboxRouter = { route: (mode) => (mode === "wasm" ? blocked : real.route(mode)) };
    const policy = {
      check: ({ tool }: { tool: { name: string } }) =>
        tool.name === "outer"
          ? allow({ sandbox: "wasm", capabilities: { tools: ["*"] } })
          : allow({ sandbox: "host" }),
    };
    const { quickjs: _, ...plain } = outer("");
    const component = { ...plain, wasm: { component: new URL("file:///outer.wasm") } } as Tool;
    const ctx = await contextFor([component, asking({ question: "?" })], {
      policy,
      ask,
      sandboxes,
    });
    const execution = await new ToolDispatchEngine().dispatch({ id: "c", name: "outer", arguments: {} }, ctx);
    expect(execution?.output).toContain(NOBODY);
    expect(count).toBe(0);
  });
});
