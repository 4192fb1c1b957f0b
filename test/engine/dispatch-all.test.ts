import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../src/tool/side-effects.ts";
import { contextFor } from "./helpers.ts";

const engine = new ToolDispatchEngine();

/** Tools named after their class, which take a turn of the event loop, and a record of when they run. */
class Recorder {
  readonly log: string[] = [];
  readonly tools: readonly Tool[];
  most = 0;
  #running = 0;

  constructor() {
    this.tools = SIDE_EFFECTS.map((sideEffects) => ({
      name: sideEffects,
      description: "",
      inputSchema: {},
      sideEffects,
      host: async (_input: unknown, { callId }: { callId: string }) => {
        this.log.push(`start ${callId}`);
        this.most = Math.max(this.most, ++this.#running);
        await new Promise((resolve) => setImmediate(resolve));
        this.#running--;
        this.log.push(`end ${callId}`);
        return callId;
      },
    }));
  }
}

const callsOf = (...names: readonly string[]): ToolCall[] =>
  names.map((name, index) => ({ id: String(index), name, arguments: {} }));

describe("dispatchAll", () => {
  test("calls that may change something run one after the other, and results keep the order", async () => {
    const { log, tools } = new Recorder();
    const ctx = await contextFor(tools, {
      hooks: { onToolCall: ({ id }) => (id === "1" ? "abort" : undefined) },
    });
    const executions = await engine.dispatchAll(callsOf("write", "write", "destructive"), ctx);
    expect(executions.map((execution) => execution?.output)).toEqual(["0", undefined, "2"]);
    expect(executions[1]).toBeNull();
    expect(log).toEqual(["start 0", "end 0", "start 2", "end 2"]);
  });

  test("calls that change nothing run at the same time, four at most", async () => {
    const recorder = new Recorder();
    const names = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? "read" : "none"));
    const executions = await engine.dispatchAll(callsOf(...names), await contextFor(recorder.tools));
    expect(executions.map((execution) => execution?.output)).toEqual(names.map((_, index) => String(index)));
    expect(recorder.most).toBe(4);
  });

  test.each([
    "dispatchAll",
    "dispatchTurn",
  ] as const)("of calls with one id, %s runs none", async (method) => {
    const { log, tools } = new Recorder();
    const ctx = await contextFor(tools);
    const calls = [...callsOf("write", "read", "write"), { id: "0", name: "network", arguments: {} }];
    const executions =
      method === "dispatchAll"
        ? await engine.dispatchAll(calls, ctx)
        : await engine.dispatchTurn({ calls }, ctx);
    const refused = {
      code: "validation_error",
      effect: "none",
      message: 'Invalid tool call: several calls of the message have the id "0"',
    };
    expect(executions.map((execution) => execution?.error ?? execution?.output)).toMatchObject([
      refused,
      "1",
      "2",
      refused,
    ]);
    expect(log).toEqual(["start 1", "end 1", "start 2", "end 2"]);
  });

  test("a call that may change something waits for earlier reads, and later reads wait for it", async () => {
    const { log, tools } = new Recorder();
    await engine.dispatchAll(callsOf("read", "read", "write", "read"), await contextFor(tools));
    expect(log).toEqual(["start 0", "start 1", "end 0", "end 1", "start 2", "end 2", "start 3", "end 3"]);
  });

  test("a concurrency of one runs all calls one after the other", async () => {
    const recorder = new Recorder();
    const ctx = await contextFor(recorder.tools);
    await engine.dispatchAll(callsOf("read", "read", "none"), ctx, { concurrency: 1 });
    expect(recorder.most).toBe(1);
  });

  test("calls that are added to the list meanwhile are not dispatched", async () => {
    const calls = callsOf("read", "write");
    const running = engine.dispatchAll(calls, await contextFor(new Recorder().tools));
    calls.push(...callsOf("read"));
    expect(await running).toHaveLength(2);
  });

  test("any list of calls has one result each, in order, and no change runs beside another call", async () => {
    const unknown = fc.constantFrom<unknown>("missing", undefined, 7);
    const names = fc.array(fc.oneof(fc.constantFrom<unknown>(...SIDE_EFFECTS), unknown), { maxLength: 30 });
    const property = fc.asyncProperty(names, fc.integer({ min: 1, max: 9 }), async (list, concurrency) => {
      const { log, tools } = new Recorder();
      const calls = callsOf(...(list as string[]));
      const executions = await engine.dispatchAll(calls, await contextFor(tools), { concurrency });
      expect(executions.map((execution) => execution?.callId)).toEqual(calls.map(({ id }) => id));
      const isKnown = (name: unknown): boolean => SIDE_EFFECTS.includes(name as SideEffects);
      expect(executions.map((execution) => execution?.success)).toEqual(list.map(isKnown));
      const changing = calls.filter(({ name }) => isKnown(name) && name !== "none" && name !== "read");
      for (const { id } of changing) {
        expect(log[log.indexOf(`start ${id}`) + 1]).toBe(`end ${id}`);
      }
    });
    await fc.assert(property, { numRuns: 100 });
  });

  test.each([
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "4",
  ])("rejects a concurrency of %s", async (concurrency) => {
    const ctx = await contextFor([]);
    const running = engine.dispatchAll([], ctx, { concurrency: concurrency as number });
    await expect(running).rejects.toThrow(TypeError);
  });
});
