import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import type { EventStream } from "../../src/engine/call/events.ts";
import { allow } from "../../src/policy/policy.ts";
import type { SandboxOutcome } from "../../src/sandboxes/contract/outcome.ts";
import type { Sandbox } from "../../src/sandboxes/contract/sandbox.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

/** A context whose every step notes its name in `order`, and answers at once or later. */
async function notingContext(order: string[], later: boolean): Promise<DispatchContext> {
  const answer = <T>(step: string, value: T): T => {
    order.push(step);
    return later ? (Promise.resolve(value) as T) : value;
  };
  const tool = hostTool(() => answer("tool", "done"));
  const ctx = await contextFor([tool], {
    hooks: {
      onToolCall: () => answer("onToolCall", undefined),
      onToolStart: () => answer("onToolStart", undefined),
    },
    policy: { check: () => answer("policy", allow({ sandbox: "host" })) },
  });
  const { sandboxes } = ctx;
  return { ...ctx, sandboxes: { route: (mode) => answer("sandbox", sandboxes.route(mode)) } };
}

describe("the steps of a call", () => {
  test.each([
    ["at once", false],
    ["later", true],
  ])("the steps of a call run in the same order if each answers %s", async (_when, later) => {
    const order: string[] = [];
    expect(await dispatchTool(await notingContext(order, later))).toMatchObject({ output: "done" });
    expect(order).toEqual(["onToolCall", "policy", "sandbox", "onToolStart", "tool"]);
  });

  test.each([
    ["at once", false],
    ["later", true],
  ])("the steps of a call end with the one that refuses it %s", async (_when, later) => {
    for (const hook of ["onToolCall", "onToolStart"]) {
      const order: string[] = [];
      const ctx = await notingContext(order, later);
      const refuse = (): unknown => {
        order.push("refusal");
        return later ? Promise.resolve({ deny: "no" }) : { deny: "no" };
      };
      const { error } = await dispatchTool({ ...ctx, hooks: { ...ctx.hooks, [hook]: refuse } });
      expect(error?.code).toBe("permission_denied");
      expect(order.at(-1)).toBe("refusal");
    }
  });

  test.each([
    ["at once", false],
    ["later", true],
  ])("no later step runs if a hook aborts the call %s", async (_when, later) => {
    const order: string[] = [];
    const ctx = await notingContext(order, later);
    const onToolCall = (): "abort" => (later ? Promise.resolve("abort") : "abort") as "abort";
    await expect(dispatchTool({ ...ctx, hooks: { onToolCall } })).rejects.toThrow("the call was aborted");
    expect(order).toEqual([]);
  });
});

describe("a sandbox that breaks its contract", () => {
  const invalid: readonly [string, () => unknown][] = [
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["returns nothing", () => undefined],
    ["resolves to nothing", async () => undefined],
    ["returns null", () => null],
    ["resolves to null", async () => null],
    ["returns an empty object", () => ({})],
    ["resolves to an empty object", async () => ({})],
  ];

  test.each(invalid)("a call fails with an unknown effect if its sandbox %s", async (_case, run) => {
    const { events, seen }: { events: EventStream; seen: unknown[] } = recordEvents();
    const sandbox: Sandbox = {
      mode: "host",
      capabilities: new Set(),
      defaults: {},
      unenforceable: () => undefined,
      prepare: async () => {},
      run: run as () => SandboxOutcome,
      close: async () => {},
    };
    const ctx = await contextFor([hostTool(() => 1)], { events, sandboxes: { route: () => sandbox } });
    const { error, receipt } = await dispatchTool(ctx);
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(Object.isFrozen(receipt)).toBe(true);
    expect(seen).toMatchObject([{ type: "tool.started" }, { type: "tool.failed" }]);
  });
});
