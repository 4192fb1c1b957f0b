import { jsonSchema, tool } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { wrapTools } from "../../src/protocols/wrapped-tools.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../src/sessions/sessions.ts";

async function contextOf(tools: readonly Tool[]): Promise<DispatchContext> {
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes.close());
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  return { registry, policy: new HostPolicy(), sandboxes, sessionId: "s" };
}

const dispatch = (ctx: DispatchContext, name: string, args: object) =>
  new ToolDispatchEngine().dispatch({ id: "c1", name, arguments: args as never }, ctx);

const weather = {
  weather: tool({
    description: "Returns the weather of a city",
    inputSchema: z.object({ city: z.string().min(2) }),
    execute: async ({ city }, { toolCallId }) => ({ city, toolCallId }),
  }),
  add: tool({
    title: "Adds numbers",
    inputSchema: jsonSchema<{ a: number }>({
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
    }),
    execute: ({ a }) => a + 1,
  }),
  count: tool({
    inputSchema: z.object({}),
    needsApproval: true,
    async *execute() {
      yield 1;
      yield 2;
    },
  }),
};

test("wraps the tools of an AI SDK with one line, as the strictest class unless a person says otherwise", async () => {
  const tools = wrapTools(weather, { sideEffects: { add: "none" } });
  expect(
    tools.map(({ name, description, sideEffects, confirm }) => [name, description, sideEffects, confirm]),
  ).toEqual([
    ["weather", "Returns the weather of a city", "destructive", undefined],
    ["add", "Adds numbers", "none", undefined],
    ["count", "count", "destructive", "always"],
  ]);
  const ctx = await contextOf(tools);
  expect(await dispatch(ctx, "weather", { city: "Oslo" })).toMatchObject({
    success: true,
    output: { city: "Oslo", toolCallId: "c1" },
  });
  expect(await dispatch(ctx, "add", { a: 1 })).toMatchObject({ output: 2 });
  expect(await dispatch(ctx, "count", {})).toMatchObject({ output: 2 });
  for (const args of [{ city: "O" }, {}])
    expect(await dispatch(ctx, "weather", args)).toMatchObject({ error: { code: "validation_error" } });
});

test("has a person asked before each call of a tool that needs approval, whatever its class", async () => {
  const { registry, policy, sandboxes } = await contextOf(
    wrapTools(weather, { sideEffects: { count: "none" } }),
  );
  await using sessions = await openSessions({ registry, policy, sandboxes });
  const asked: string[] = [];
  sessions.onConfirmation((event) => {
    if (event.type !== "requested" || event.confirmation.kind === "question") return;
    const { id, digest } = event.confirmation;
    asked.push(id);
    void sessions.answer(id, { decision: asked.length === 1 ? "allow" : "deny", digest, by: "ann" });
  });
  const turn = (await sessions.open()).turn();
  const call = (id: string) => turn.dispatch({ id, name: "count", arguments: {} });
  expect(await call("c1")).toMatchObject({ success: true, output: 2 });
  expect(await call("c2")).toMatchObject({ error: { code: "user_denied" } });
  expect(asked).toHaveLength(2);
});

test("passes the signal of a call on, and ends with it", async () => {
  const seen: AbortSignal[] = [];
  const wait = tool({
    inputSchema: z.object({}),
    execute: (_, { abortSignal }) =>
      new Promise<string>((__, reject) => {
        seen.push(abortSignal as AbortSignal);
        abortSignal?.addEventListener("abort", () => reject(new Error("stopped")));
      }),
  });
  const stopping = new AbortController();
  const ctx = await contextOf(wrapTools({ wait }));
  const result = dispatch({ ...ctx, signal: stopping.signal }, "wait", {});
  await expect.poll(() => seen).toHaveLength(1);
  stopping.abort();
  expect(await result).toMatchObject({ error: { code: "cancelled" } });
  expect(seen[0]?.aborted).toBe(true);
});

test("wraps a list of tools in LangChain's form", async () => {
  const shout = {
    name: "shout",
    description: "Shouts",
    schema: z.object({ text: z.string() }),
    invoke: async ({ text }: { text: string }, config?: { signal?: AbortSignal }) =>
      `${text.toUpperCase()} ${config?.signal instanceof AbortSignal}`,
  };
  const tools = wrapTools([shout]);
  expect(tools).toMatchObject([{ name: "shout", sideEffects: "destructive" }]);
  expect(await dispatch(await contextOf(tools), "shout", { text: "a" })).toMatchObject({ output: "A true" });
});

test.each<[string, () => unknown, string]>([
  ["a tool that runs elsewhere", () => wrapTools({ x: { inputSchema: z.object({}) } }), "'x' has no execute"],
  ["no schema", () => wrapTools({ x: { inputSchema: 1, execute: () => 1 } }), "no schema that can be used"],
  ["no tool", () => wrapTools([{} as never]), "must have a name and invoke"],
  ["another name", () => wrapTools(weather, { sideEffects: { wether: "read" } }), "none of the tools"],
  [
    "another class",
    () => wrapTools(weather, { sideEffects: { add: "reads" as never } }),
    "must be one of none",
  ],
  ["another option", () => wrapTools(weather, { classes: {} } as never), "classes"],
])("refuses %s", (_, wrap, message) => {
  expect(wrap).toThrow(TypeError);
  expect(wrap).toThrow(message);
});
