import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { contextFor, hostTool } from "../helpers.ts";

const call = { id: "1", name: "tool", arguments: {} };
const engine = new ToolDispatchEngine();
let ran = 0;
const tool = hostTool(() => ++ran);

describe("an invalid context is a TypeError of the dispatch, and runs nothing:", () => {
  test.each<[object, string]>([
    [{ resultBudget: { chars: -1 } }, "resultBudget.chars must be an integer of at least 0, not -1"],
    [{ resultBudget: { chars: 1.5 } }, "resultBudget.chars must be an integer"],
    [{ resultBudget: { chars: Number.NaN } }, "resultBudget.chars must be an integer"],
    [{ resultBudget: { chars: "100" } }, "resultBudget.chars must be an integer"],
    [{ resultBudget: { head: 1.1 } }, "resultBudget.head must be a number from 0 to 1, not 1.1"],
    [{ resultBudget: { head: -0.1 } }, "resultBudget.head must be a number"],
    [{ resultBudget: { head: Number.NaN } }, "resultBudget.head must be a number"],
    [{ resultBudget: null }, ""],
    [{ timeouts: { quick: 0, slow: 1 } }, "timeouts.quick must be an integer from 1"],
    [{ timeouts: { quick: 1 } }, "timeouts.slow must be an integer from 1 to"],
    [{ timeouts: { quick: 1, slow: 2 ** 31 } }, "timeouts.slow must be an integer"],
    [{ registry: undefined }, "registry of the context must be a ToolRegistry"],
    [{ registry: [] }, "registry of the context must be"],
    [{ policy: null }, "policy of the context must be a policy with the method check"],
    [{ policy: () => "allow" }, "policy of the context must be"],
    [{ sandboxes: {} }, "sandboxes of the context must be what openSandboxes returns"],
    [{ sessionId: 7 }, "sessionId of the context must be a text"],
    [{ decisionTimeoutMs: 2 ** 31 }, "decisionTimeoutMs must be a number from 1"],
    [{ decisionTimeoutMs: Number.NaN }, "decisionTimeoutMs must be a number from 1"],
    [{ timeouts: { quick: 0.5, slow: 1 } }, "timeouts.quick must be an integer"],
    [{ timeouts: "never" }, 'timeouts must be an object with quick and slow, or "none", not never'],
    [{ redactoin: {} }, "the context has an unknown member 'redactoin': did you mean 'redaction'?"],
    [
      { engine: new ToolDispatchEngine() },
      "the context has an unknown member 'engine': expected registry, policy",
    ],
    [{ events: () => {} }, "events of the context must be an EventStream"],
    [{ events: new EventEmitter() }, "events of the context must be an EventStream"],
    [{ redaction: true }, "redaction of the context must be a Redaction"],
    [{ hooks: () => "abort" }, "hooks of the context must be an object with hooks"],
    [
      { hooks: { onToolcall: () => "abort" } },
      "hooks of the context has an unknown member 'onToolcall': did you mean 'onToolCall'?",
    ],
    [
      { hooks: { beforeTool: () => "abort" } },
      "hooks of the context has an unknown member 'beforeTool': expected onToolCall, onToolStart",
    ],
    [{ hooks: { onToolStart: "deny" } }, "hooks.onToolStart of the context must be a function"],
    [{ resultBudget: { char: 10 } }, "resultBudget of the context has an unknown member 'char'"],
    [{ timeouts: { quick: 1, slow: 1, slwo: 1 } }, "timeouts of the context has an unknown member 'slwo'"],
    [{ tracer: {} }, "tracer of the context must be a tracer"],
    [{ journal: {} }, "journal of the context must be a journal"],
    [{ suspensions: {} }, "suspensions of the context must be what openSuspensions returns"],
    [{ waitedMs: Number.NaN }, "waitedMs of the context must be a number of at least 0"],
    [{ confirm: true }, "confirm of the context must be a function"],
    [{ signal: new AbortController() }, "signal of the context must be an AbortSignal"],
    [{ unhandledErrors: "hidden" }, 'unhandledErrors of the context must be "message" or "redacted"'],
    [{ workspace: 7 }, "workspace of the context must be a text"],
  ])("%j", async (more, message) => {
    const ctx = await contextFor([tool], more as Partial<DispatchContext>);
    expect(() => engine.dispatch(call, ctx)).toThrow(TypeError);
    expect(() => engine.dispatch(call, ctx)).toThrow(message);
    await expect(engine.dispatchAll([call], ctx)).rejects.toThrow(TypeError);
    await expect(engine.dispatchTurn({ calls: [call] }, ctx)).rejects.toThrow(TypeError);
    expect(ran).toBe(0);
  });

  test.each([undefined, null, 1, "context"])("%s", async (ctx) => {
    expect(() => engine.dispatch(call, ctx as never)).toThrow(new TypeError("the context must be an object"));
    await expect(engine.dispatchAll([call], ctx as never)).rejects.toThrow(TypeError);
    await expect(engine.dispatchTurn({ calls: [call] }, ctx as never)).rejects.toThrow(TypeError);
  });

  test("a context with the extreme values is not one", async () => {
    const more = { resultBudget: { chars: 0, head: 1 }, timeouts: { quick: 1_000, slow: 2 ** 31 - 1 } };
    expect(await engine.dispatch(call, await contextFor([tool], more))).toMatchObject({ output: 1 });
  });
});
