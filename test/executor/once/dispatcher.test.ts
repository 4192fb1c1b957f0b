import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { completeLimits, type ExecutorLimits } from "../../../src/executor/limits.ts";
// Inside: submits a call again in the same tick in which its waiter leaves, which requests cannot time.
import type { CallWaiter } from "../../../src/executor/once/dispatched-call.ts";
import { Dispatcher } from "../../../src/executor/once/dispatcher.ts";
import { writeMetrics } from "../../../src/http/metrics.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import type { DispatchRequest } from "../../../src/remote-protocol/shapes.ts";
import type { SandboxOutcome } from "../../../src/sandboxes/contract/outcome.ts";
import { until } from "../harness.ts";
import { SlowlyEnding } from "../slowly-ending.ts";

const tool = defineTool({ name: "t", description: "", inputSchema: { type: "object" }, host: () => 1 });
const used = { wallTimeMs: 0 };
const NOT_STARTED: SandboxOutcome = { status: "cancelled", effect: "none", used };
const done = (output: string): SandboxOutcome => ({ status: "completed", output, effect: "committed", used });

function requestOf(id: string, more: Partial<DispatchRequest> = {}): DispatchRequest {
  const grant = { limits: {}, capabilities: {} };
  return { call: { id, name: "t", arguments: {} }, session: "session", grant, ...more };
}

/** A waiter that records what it receives. */
class Waiter implements CallWaiter {
  readonly heard: string[] = [];

  replayed(): void {
    this.heard.push("replayed");
  }

  waits(): void {
    this.heard.push("waits");
  }

  answered(execution: string): void {
    const { output, error } = JSON.parse(execution);
    this.heard.push(error === undefined ? output : `${error.code}, effect ${error.effect}`);
  }

  refused({ code }: { readonly code: string }): void {
    this.heard.push(code);
  }
}

/** Creates a dispatcher and a function that submits calls to it. */
function start(limits: Partial<ExecutorLimits> = {}): {
  readonly sandbox: SlowlyEnding;
  readonly dispatcher: Dispatcher;
  submit(request: DispatchRequest): { readonly heard: readonly string[]; leave(): void };
} {
  const sandbox = new SlowlyEnding();
  const registry = new ToolRegistry().register(tool);
  const context = { registry, policy: new HostPolicy(), sandboxes: { route: () => sandbox } };
  const dispatcher = new Dispatcher(context, completeLimits(limits));
  return {
    sandbox,
    dispatcher,
    submit: (request) => {
      const waiter = new Waiter();
      return {
        heard: waiter.heard,
        leave: dispatcher.submit(request, { caller: "caller", principal: undefined }, waiter),
      };
    },
  };
}

describe("resubmitting a call that is being cancelled", () => {
  test("a resubmitted call runs once for all its waiters if the cancelled one had no effect", async () => {
    const { sandbox, submit } = start();
    submit(requestOf("a")).leave();
    const waiters = [submit(requestOf("a")), submit(requestOf("a"))];
    expect(sandbox.signals.map(({ aborted }) => aborted)).toEqual([true]);
    sandbox.end(NOT_STARTED);
    await until(() => sandbox.signals.length === 2);
    expect(sandbox.signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    sandbox.end(done("second"));
    await until(() => waiters.every(({ heard }) => heard.length > 0));
    expect(waiters.map(({ heard }) => heard)).toEqual([["second"], ["replayed", "second"]]);
    expect(submit(requestOf("a")).heard).toEqual(["replayed", "second"]);
  });

  test("a resubmitted call gets the failure of the cancelled one if that may have had an effect", async () => {
    const { sandbox, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a"));
    sandbox.end({ status: "cancelled", effect: "unknown", used });
    await until(() => waiter.heard.length > 0);
    expect(waiter.heard).toEqual(["replayed", "cancelled, effect unknown"]);
    expect(submit(requestOf("a")).heard).toEqual(waiter.heard);
    expect(sandbox.signals).toHaveLength(1);
  });

  test("a resubmitted call gets the output of the cancelled one if that succeeded nevertheless", async () => {
    const { sandbox, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a"));
    sandbox.end(done("first"));
    await until(() => waiter.heard.length > 0);
    expect(waiter.heard).toEqual(["replayed", "first"]);
  });

  test("a resubmitted call with other arguments is a conflict", () => {
    const { submit } = start();
    submit(requestOf("a")).leave();
    const other = { id: "a", name: "t", arguments: { x: 1 } };
    expect(() => submit(requestOf("a", { call: other }))).toThrow(/another call with this id/);
  });

  test("a resubmitted call does not run and leaves no state behind if its waiter leaves, too", async () => {
    const { sandbox, dispatcher, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a"));
    waiter.leave();
    sandbox.end(NOT_STARTED);
    await until(() => writeMetrics(dispatcher.readMetrics()).includes("sandgate_calls_in_flight 0"));
    expect(sandbox.signals).toHaveLength(1);
    expect(writeMetrics(dispatcher.readMetrics())).toContain("sandgate_calls_remembered 0");
    expect(waiter.heard).toEqual([]);
  });

  test("a resubmitted call is cancelled like any other when its waiter leaves", async () => {
    const { sandbox, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a"));
    sandbox.end(NOT_STARTED);
    await until(() => sandbox.signals.length === 2);
    waiter.leave();
    expect(sandbox.signals[1]?.aborted).toBe(true);
  });

  test("a resubmitted call does not run after its timeout", async () => {
    const { sandbox, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a", { timeoutMs: 5 }));
    await new Promise((resolve) => setTimeout(resolve, 10));
    sandbox.end(NOT_STARTED);
    await until(() => waiter.heard.length > 0);
    expect(waiter.heard).toEqual(["deadline_passed"]);
    expect(sandbox.signals).toHaveLength(1);
  });

  test("a resubmitted call waits for its turn", async () => {
    const { sandbox, submit } = start({ inFlight: 1 });
    submit(requestOf("a")).leave();
    const other = submit(requestOf("b"));
    const waiter = submit(requestOf("a"));
    for (const outcome of [NOT_STARTED, done("b"), done("a")]) {
      const began = sandbox.signals.length;
      sandbox.end(outcome);
      if (began < 3) await until(() => sandbox.signals.length > began);
    }
    await until(() => waiter.heard.length > 0);
    expect([other.heard, waiter.heard]).toEqual([["b"], ["a"]]);
  });

  test("a resubmitted call is refused if the executor shuts down before the cancelled one has ended", async () => {
    const { sandbox, dispatcher, submit } = start();
    submit(requestOf("a")).leave();
    const waiter = submit(requestOf("a"));
    const drained = dispatcher.drain();
    sandbox.end(NOT_STARTED);
    await drained;
    expect(waiter.heard).toEqual(["draining"]);
  });
});
