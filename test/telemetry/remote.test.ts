import { generateKeyPairSync } from "node:crypto";
import { context, createTraceState, trace } from "@opentelemetry/api";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { Executor } from "../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../src/executor/options.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes, type SandboxesOptions } from "../../src/sandboxes/open-sandboxes.ts";
import { callTracer } from "../../src/telemetry/call-tracer.ts";
import { instrument } from "../../src/telemetry/instrument.ts";
import { hostTool } from "../engine/helpers.ts";
import { dispatch, dispatchBody, executionOf, KeyedClient, startExecutor } from "../executor/harness.ts";
import type { ReceivedSpan } from "./otlp-receiver.ts";
import { openSdk, type Sdk } from "./setting.ts";

const echo = hostTool((input) => input);
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

/** Starts an executor whose calls have spans. */
function startTraced(
  sdk: Sdk,
  tools: readonly Tool[],
  options: Partial<ExecutorOptions> = {},
): Promise<Executor> {
  return startExecutor(tools, { tracer: callTracer(sdk.telemetry), ...options });
}

/** Creates a context with a tool that runs on an executor, until the test finishes. */
async function contextOf(
  { address }: Executor,
  options: SandboxesOptions = {},
  more: Partial<DispatchContext> = {},
): Promise<DispatchContext> {
  const sandboxes = await openSandboxes(options);
  onTestFinished(() => sandboxes.close());
  const tool = { name: "tool", description: "", inputSchema: { type: "object" } };
  const registry = new ToolRegistry().register({ ...tool, remote: { executor: `http://${address}` } });
  return {
    registry,
    policy: { check: () => allow({ sandbox: "remote" }) },
    sandboxes,
    sessionId: "s",
    ...more,
  };
}

/** Dispatches a call of the tool, and returns the span of the executor and that of the client. */
async function spansOf(sdk: Sdk, ctx: DispatchContext): Promise<readonly ReceivedSpan[]> {
  const engine = instrument(new ToolDispatchEngine(), sdk.telemetry);
  const execution = await engine.dispatch({ id: "call", name: "tool", arguments: { a: 1 } }, ctx);
  expect(execution?.output).toEqual({ a: 1 });
  return sdk.spans();
}

function expectContinued([executor, client]: readonly ReceivedSpan[]): void {
  expect(executor?.attributes["sandgate.sandbox"]).toBe("host");
  expect(client?.attributes["sandgate.sandbox"]).toBe("remote");
  expect([executor?.traceId, executor?.parentSpanId]).toEqual([client?.traceId, client?.spanId]);
}

describe("A call on an executor", () => {
  test("has a span there that is a child of the client's", async () => {
    const sdk = await openSdk();
    const ctx = await contextOf(await startTraced(sdk, [echo]));
    const spans = await spansOf(sdk, ctx);
    expect(spans).toHaveLength(2);
    expectContinued(spans);
    expect(spans[1]?.attributes["sandgate.receipt.used.attempts"]).toBe(1);
  });

  test("continues the trace if it is signed, and if its output is streamed", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const sdk = await openSdk();
    const executor = await startTraced(sdk, [echo], { keys: new Map([["agent", publicKey]]) });
    const events = new EventStream();
    events.on(() => {});
    const options = { remote: { signingKey: privateKey, keyId: "agent" } };
    expectContinued(await spansOf(sdk, await contextOf(executor, options, { events })));
  });

  test("passes on the trace state", async () => {
    const seen: (string | undefined)[] = [];
    const sdk = await openSdk();
    const looks = hostTool((input) => {
      seen.push(trace.getActiveSpan()?.spanContext().traceState?.serialize());
      return input;
    });
    const ctx = await contextOf(await startTraced(sdk, [looks]));
    const parent = {
      traceId: TRACE,
      spanId: SPAN,
      traceFlags: 1,
      traceState: createTraceState("vendor=1"),
    };
    await context.with(trace.setSpanContext(context.active(), parent), () => spansOf(sdk, ctx));
    expect(seen).toEqual(["vendor=1"]);
  });

  test("runs on an executor that is not traced", async () => {
    const sdk = await openSdk();
    const ctx = await contextOf(await startExecutor([echo]));
    expect(await spansOf(sdk, ctx)).toHaveLength(1);
  });

  test("sends no trace if it is not traced itself", async () => {
    const sdk = await openSdk();
    const ctx = await contextOf(await startTraced(sdk, [echo]));
    await new ToolDispatchEngine().dispatch({ id: "call", name: "tool", arguments: {} }, ctx);
    expect((await sdk.spans()).map(({ parentSpanId }) => parentSpanId)).toEqual([undefined]);
  });
});

describe("A request with a traceparent", () => {
  const traceparent = `00-${TRACE}-${SPAN}-01`;

  test("is accepted although its signature does not cover the header", async () => {
    const client = new KeyedClient("agent");
    const sdk = await openSdk();
    const executor = await startTraced(sdk, [echo], { keys: new Map([["agent", client.publicKey]]) });
    const body = dispatchBody({ name: "tool" });
    const headers = { ...client.sign(executor, body), traceparent };
    expect(executionOf(await dispatch(executor, body, { headers })).success).toBe(true);
    const [span] = await sdk.spans();
    expect([span?.traceId, span?.parentSpanId]).toEqual([TRACE, SPAN]);
  });

  test.each([
    "",
    "00-x",
    `${traceparent}-00`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
  ])("begins a trace of its own if the header is %j", async (invalid) => {
    const sdk = await openSdk();
    const executor = await startTraced(sdk, [echo]);
    const headers = { traceparent: invalid };
    const answer = await dispatch(executor, dispatchBody({ name: "tool" }), { headers });
    expect(executionOf(answer).success).toBe(true);
    const [span] = await sdk.spans();
    expect(span?.parentSpanId).toBeUndefined();
  });

  test("is the same call as one of another trace", async () => {
    const sdk = await openSdk();
    const executor = await startTraced(sdk, [echo]);
    const body = dispatchBody({ name: "tool" });
    await dispatch(executor, body, { headers: { traceparent } });
    const again = await dispatch(executor, body, {
      headers: { traceparent: traceparent.replace("4b", "4c") },
    });
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect((await sdk.spans()).map(({ traceId }) => traceId)).toEqual([TRACE]);
  });
});
