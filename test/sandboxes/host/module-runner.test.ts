import { afterAll, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, recordEvents } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const module = new URL("../../fixtures/worker/contract.ts", import.meta.url);
const moduleTool = (name: string, from: URL | string = module): Tool =>
  defineTool({ name: "tool", description: "", inputSchema: {}, host: { module: from, export: name } });

test("a module streams output and log lines from its thread", async () => {
  const { events, seen } = recordEvents();
  const ctx = await contextFor([moduleTool("stream")], { sandboxes, events });
  const { output } = await dispatchTool(ctx, { chunks: ["a", "b"] });
  expect(output).toBe(2);
  expect(seen).toMatchObject([
    { type: "tool.started" },
    { type: "tool.output", chunk: "a" },
    { type: "tool.output", chunk: "b" },
    { type: "tool.log", level: "warn", message: "done" },
    { type: "tool.completed" },
  ]);
});

test("a module can destructure its context", async () => {
  const { events, seen } = recordEvents();
  const ctx = await contextFor([moduleTool("takenApart")], { sandboxes, events });
  const { output, receipt } = await dispatchTool(ctx);
  expect(output).toEqual(["call", "session", "tool"]);
  expect(receipt.used.outputBytes).toBe("firstsecond".length + '["call","session","tool"]'.length);
  expect(seen.slice(1, -1)).toMatchObject([
    ...["debug", "info", "warn", "error"].map((level) => ({ type: "tool.log", level, message: "line" })),
    ...["first", "second"].map((chunk) => ({ type: "tool.output", chunk })),
  ]);
});

test("a module knows how much of its result the model reads", async () => {
  const readBy = async (more: Partial<DispatchContext>): Promise<JsonValue> =>
    (await dispatchTool(await contextFor([moduleTool("room")], { sandboxes, ...more }))).output;
  expect(await readBy({})).toBe(30_000);
  expect(await readBy({ resultBudget: { chars: 500 } })).toBe(500);
});

test("a module that ends its thread fails its own call, but no other", async () => {
  const { error } = await dispatchTool(await contextFor([moduleTool("exit")], { sandboxes }));
  expect(error).toMatchObject({
    code: "execution_error",
    message: "Tool ended the thread that it ran in",
    effect: "unknown",
  });
  const next = await dispatchTool(await contextFor([moduleTool("echo")], { sandboxes }), { n: 1 });
  expect(next.output).toEqual({ n: 1 });
});

test.each<[string, Tool]>([
  ["a module that does not exist", moduleTool("echo", "/no/such/module.js")],
  ["a missing export", moduleTool("nothing")],
])("a tool with %s is unavailable, and its error contains no path", async (_case, tool) => {
  const { events, seen } = recordEvents();
  const { error } = await dispatchTool(await contextFor([tool], { sandboxes, events }));
  expect(error).toMatchObject({
    code: "sandbox_unavailable",
    message: "Tool 'tool' cannot run now: its 'host' sandbox is not available",
    effect: "none",
  });
  expect(seen.at(-1)).toHaveProperty("detail");
});

test("a call of a module is refused without effect if no thread is free in time", async () => {
  await using small = await openSandboxes({ workers: { threads: 1, maxWaitMs: 300 } });
  const echo = await contextFor([moduleTool("echo")], { sandboxes: small });
  await expect.poll(async () => (await dispatchTool(echo)).success).toBe(true);
  const cancel = new AbortController();
  const busy = dispatchTool(
    await contextFor([moduleTool("loop")], { sandboxes: small, signal: cancel.signal }),
  );
  const waiting = await dispatchTool(echo);
  expect(waiting.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  expect(waiting.error?.message).toMatch(
    /^Tool 'tool' never began: it waited [\d.]+m?s for its turn, and had no effect\. Call it again later$/,
  );
  const { used } = waiting.receipt;
  expect([used.wallTimeMs, (used.waitedMs ?? 0) >= 290]).toEqual([0, true]);
  cancel.abort();
  expect((await busy).error?.code).toBe("cancelled");
});

test("waiting for a thread does not count against the wall time", async () => {
  const policy = {
    check: () => ({ decision: "allow", grant: { sandbox: "host", limits: { wallTimeMs: 100 } } }),
  };
  const tools = { policy: policy as never, sandboxes };
  const loops = Array.from({ length: 2 }, async () =>
    dispatchTool(await contextFor([moduleTool("loop")], tools)),
  );
  const echo = dispatchTool(await contextFor([moduleTool("echo")], tools), { n: 1 });
  for (const loop of await Promise.all(loops)) expect(loop.error?.code).toBe("timeout");
  expect((await echo).success).toBe(true);
});
