import { context, createNoopMeter, type Meter, trace } from "@opentelemetry/api";
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterAll, describe, expect, test } from "vitest";
import type { AgentHooks, DispatchContext } from "../../src/engine/call/context.ts";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { allow, ask, deny, type PolicyDecision, type PolicyRequest } from "../../src/policy/policy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { instrument } from "../../src/telemetry/instrument.ts";
import type { TelemetryOptions } from "../../src/telemetry/instruments.ts";
import { hostTool } from "../engine/helpers.ts";
import type { ReceivedSpan } from "./otlp-receiver.ts";
import { openSdk, type Sdk } from "./setting.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const KEY = "AKIAIOSFODNN7EXAMPLE";
const echo = hostTool((input) => input, { sideEffects: "read" });

interface Setting {
  readonly decision?: PolicyDecision;
  readonly more?: Partial<DispatchContext>;
  readonly options?: TelemetryOptions;
}

function contextOf(
  tools: readonly Tool[],
  {
    decision = allow({ sandbox: "host", limits: { outputBytes: 50_000 } }, { rules: ["all"] }),
    more,
  }: Setting = {},
): DispatchContext {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const policy = { check: () => decision, revision: "r7" };
  return { registry, policy, sandboxes, sessionId: "session", ...more };
}

/** Dispatches a call of `tool`, and returns its span. */
async function spanOf(
  sdk: Sdk,
  tools: readonly Tool[],
  setting: Setting = {},
  { name = "tool", input = {} as JsonValue } = {},
): Promise<ReceivedSpan> {
  const { tracer, meter } = sdk;
  const engine = instrument(new ToolDispatchEngine(), { tracer, meter, ...setting.options });
  await engine.dispatch({ id: "call", name, arguments: input }, contextOf(tools, setting));
  const spans = await sdk.spans();
  expect(spans).toHaveLength(1);
  return spans[0] as ReceivedSpan;
}

describe("The span of a call that succeeds", () => {
  test("has the names of the semantic conventions, and Sandgate's own", async () => {
    const span = await spanOf(await openSdk(), [echo]);
    const { attributes } = span;
    expect(span).toMatchObject({ name: "execute_tool tool", parentSpanId: undefined, events: [] });
    // OTLP counts kinds from 1.
    expect(span.kind).toBe(1);
    expect(span.status.code ?? 0).toBe(0);
    expect(attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "tool",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "call",
      "gen_ai.tool.description": "A tool.",
      "gen_ai.conversation.id": "session",
      "sandgate.policy.decision": "allow",
      "sandgate.policy.rules": ["all"],
      "sandgate.policy.revision": "r7",
      "sandgate.policy.duration": expect.any(Number),
      "sandgate.sandbox": "host",
      "sandgate.receipt.enforced.output_bytes": 50_000,
      "sandgate.receipt.enforced.wall_time_ms": 60_000,
      "sandgate.receipt.used.wall_time_ms": expect.any(Number),
      "sandgate.receipt.used.output_bytes": 2,
    });
  });

  test("has arguments and result only if they are asked for, without secrets", async () => {
    const options = { recordArguments: true, recordResults: true };
    const input = { path: "/a", list: [1, null, KEY] };
    const { attributes } = await spanOf(await openSdk(), [echo], { options }, { input });
    const shown = { path: "/a", list: [1, undefined, "[redacted: aws-key]"] };
    expect(attributes["gen_ai.tool.call.arguments"]).toEqual(shown);
    expect(attributes["gen_ai.tool.call.result"]).toEqual(shown);
  });

  test("is redacted as its context says", async () => {
    const redaction = new Redaction({ patterns: { ticket: "T-[0-9]+" } });
    const setting = { options: { recordArguments: true }, more: { redaction } };
    const { attributes } = await spanOf(await openSdk(), [echo], setting, { input: { id: "T-12" } });
    expect(attributes["gen_ai.tool.call.arguments"]).toEqual({ id: "[redacted: ticket]" });
  });

  test("has the beginning of arguments that are too long, as text", async () => {
    const setting = { options: { recordArguments: true } };
    const input = { text: "x".repeat(20_000) };
    const { attributes } = await spanOf(await openSdk(), [echo], setting, { input });
    const recorded = attributes["gen_ai.tool.call.arguments"];
    expect(recorded).toBe(`${JSON.stringify(input).slice(0, 16_384)}…`);
  });

  test("tells who confirmed the call, and that they changed its arguments", async () => {
    const decisions = [ask("really?", { grant: { sandbox: "host" } }), allow({ sandbox: "host" })];
    const more: Partial<DispatchContext> = {
      policy: { check: () => decisions.shift() as PolicyDecision },
      confirm: async () => ({ decision: "allow", by: "ann", arguments: { a: 2 } }),
    };
    const { attributes } = await spanOf(await openSdk(), [echo], { more });
    expect(attributes).toMatchObject({
      "sandgate.policy.decision": "allow",
      "sandgate.confirmation.by": "ann",
      "sandgate.confirmation.edited": true,
    });
  });
});

describe("The span of a call that fails", () => {
  test("has the error's code, its status, and an event with the exception", async () => {
    const fails = hostTool(() => {
      throw new Error(`no access with ${KEY}`);
    });
    const more = { unhandledErrors: "redacted" } as const;
    const span = await spanOf(await openSdk(), [fails], { more });
    const message = expect.stringMatching(/^Tool failed \(reference \w+\)$/);
    expect(span.attributes).toMatchObject({
      "error.type": "execution_error",
      "sandgate.effect": "unknown",
      "sandgate.sandbox": "host",
    });
    expect(span.status).toEqual({ code: 2, message });
    expect(span.events).toEqual([
      {
        name: "gen_ai.execute_tool.exception",
        attributes: {
          "exception.message": message,
          "exception.stacktrace": expect.stringMatching(
            /^Error: no access with \[redacted: aws-key\]\n +at /,
          ),
          "sandgate.error.reference": expect.any(String),
        },
      },
    ]);
  });

  test("has no result", async () => {
    const fails = hostTool(() => ({ content: [{ type: "text", text: "no" }], success: false }));
    const options = { recordResults: true };
    const { attributes } = await spanOf(await openSdk(), [fails], { options });
    expect(attributes).not.toHaveProperty("gen_ai.tool.call.result");
  });

  test("tells that a call which was cancelled may still run", async () => {
    const abort = new AbortController();
    const hangs = hostTool(() => {
      abort.abort();
      return new Promise<never>(() => {});
    });
    const { attributes } = await spanOf(await openSdk(), [hangs], { more: { signal: abort.signal } });
    expect(attributes).toMatchObject({
      "error.type": "cancelled",
      "sandgate.effect": "unknown",
      "sandgate.receipt.may_still_run": true,
      "sandgate.receipt.ended": "unknown",
    });
  });

  test("writes the exception as a log record instead if there is a logger", async () => {
    const exporter = new InMemoryLogRecordExporter();
    const logs = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
    const options = { logger: logs.getLogger("test") };
    const setting = { options, decision: deny("not today") };
    const span = await spanOf(await openSdk(), [echo], setting);
    expect(span.events).toEqual([]);
    expect(exporter.getFinishedLogRecords()).toEqual([
      expect.objectContaining({
        eventName: "gen_ai.execute_tool.exception",
        severityNumber: 13,
        spanContext: expect.objectContaining({ traceId: span.traceId, spanId: span.spanId }),
        attributes: expect.objectContaining({
          "exception.message": expect.stringMatching(/^Permission denied/),
        }),
      }),
    ]);
    await logs.shutdown();
  });
});

describe("The span of a call that is refused before it runs", () => {
  test("tells what the policy decided, and why", async () => {
    const near = [{ rule: "notes", missed: "/path is not matched by glob" }];
    const decision = deny(`no ${KEY}`, { rules: ["no-secrets"], near });
    const { attributes, events } = await spanOf(await openSdk(), [echo], { decision });
    expect(attributes).toMatchObject({
      "error.type": "permission_denied",
      "sandgate.effect": "none",
      "sandgate.policy.decision": "deny",
      "sandgate.policy.rules": ["no-secrets"],
      "sandgate.policy.reason": "no [redacted: aws-key]",
      "sandgate.policy.near": ["notes: /path is not matched by glob"],
    });
    expect(attributes).not.toHaveProperty("sandgate.sandbox");
    expect(events.map(({ name }) => name)).toEqual(["gen_ai.execute_tool.exception"]);
  });

  test("tells who denied it", async () => {
    const decision = ask("really?", { grant: { sandbox: "host" } });
    const more: Partial<DispatchContext> = { confirm: async () => ({ decision: "deny", by: "ann" }) };
    const { attributes, events } = await spanOf(await openSdk(), [echo], { decision, more });
    expect(attributes).toMatchObject({
      "error.type": "user_denied",
      "sandgate.policy.decision": "ask",
      "sandgate.policy.reason": "really?",
    });
    expect(events[0]?.attributes["sandgate.error.detail"]).toBe("denied by ann");
  });

  test("has the name that the model invented, of bounded length", async () => {
    const name = "x".repeat(1_000);
    const span = await spanOf(await openSdk(), [echo], {}, { name });
    expect(span.name).toBe(`execute_tool ${"x".repeat(128)}`);
    expect(span.attributes).toMatchObject({ "error.type": "not_found", "sandgate.effect": "none" });
  });

  test("tells that the arguments are invalid", async () => {
    const { attributes } = await spanOf(await openSdk(), [echo], {}, { input: "{" });
    expect(attributes["error.type"]).toBe("validation_error");
  });

  test("tells that a hook aborted the call", async () => {
    const hooks: AgentHooks = { onToolCall: () => "abort" };
    const { attributes, status } = await spanOf(await openSdk(), [echo], { more: { hooks } });
    expect(attributes["error.type"]).toBe("aborted");
    expect(status.code).toBe(2);
  });

  test("is there for a call of a message that was cut off", async () => {
    const sdk = await openSdk();
    const engine = instrument(new ToolDispatchEngine(), sdk.telemetry);
    const calls = [{ id: "1", name: "tool", arguments: "{", cutOff: true as const }];
    await engine.dispatchTurn({ calls }, contextOf([echo]));
    expect((await sdk.spans()).map(({ attributes }) => attributes["error.type"])).toEqual(["cancelled"]);
  });
});

describe("Spans of several calls", () => {
  const quickjs = (name: string, body: string): Tool => ({
    name,
    description: "",
    inputSchema: { type: "object" },
    quickjs: { source: `export default async (input, { tools }) => { ${body} }` },
  });
  const nestedPolicy = {
    check: ({ tool }: PolicyRequest) =>
      tool.name === "denied"
        ? deny("no")
        : allow({
            sandbox: tool.sandboxes[0] ?? "host",
            ...(tool.sandboxes[0] === "quickjs" && { capabilities: { tools: ["*"] } }),
          }),
  };

  test("are children of the call whose tool makes them, at every depth", async () => {
    const sdk = await openSdk();
    const outer = quickjs(
      "outer",
      'await tools.call("inner", {}); await tools.call("denied", {}).catch(() => {});',
    );
    const inner = quickjs("inner", 'return tools.call("tool", {});');
    const denied = hostTool((input) => input, { name: "denied" });
    const ctx = contextOf([outer, inner, echo, denied], { more: { policy: nestedPolicy } });
    await instrument(new ToolDispatchEngine(), sdk.telemetry).dispatch(
      { id: "c", name: "outer", arguments: {} },
      ctx,
    );
    const spans = await sdk.spans();
    const nameOf = (id: string | undefined): string | undefined =>
      spans.find(({ spanId }) => spanId === id)?.name;
    expect(spans.map(({ name, parentSpanId }) => [name, nameOf(parentSpanId)])).toEqual([
      ["execute_tool tool", "execute_tool inner"],
      ["execute_tool inner", "execute_tool outer"],
      ["execute_tool denied", "execute_tool outer"],
      ["execute_tool outer", undefined],
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("belong to what is active when a call arrives, and what the tool traces belongs to them", async () => {
    const sdk = await openSdk();
    const traces = hostTool(async () => {
      await null;
      sdk.tracer.startSpan("query").end();
      return null;
    });
    const engine = instrument(new ToolDispatchEngine(), sdk.telemetry);
    const agent = sdk.tracer.startSpan("invoke_agent");
    const calls = ["1", "2"].map((id) => ({ id, name: "tool", arguments: {} }));
    await context.with(trace.setSpan(context.active(), agent), () =>
      engine.dispatchAll(calls, contextOf([traces])),
    );
    agent.end();
    const spans = await sdk.spans();
    const tools = spans.filter(({ name }) => name === "execute_tool tool");
    expect(tools.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(2).fill(agent.spanContext().spanId));
    const queries = spans.filter(({ name }) => name === "query").map(({ parentSpanId }) => parentSpanId);
    expect(queries).toEqual(tools.map(({ spanId }) => spanId));
  });

  test("are not written twice if an engine is instrumented twice", async () => {
    const sdk = await openSdk();
    const engine = instrument(instrument(new ToolDispatchEngine(), sdk.telemetry), sdk.telemetry);
    await engine.dispatch({ id: "c", name: "tool", arguments: {} }, contextOf([echo]));
    expect(await sdk.spans()).toHaveLength(1);
  });
});

describe("The histogram gen_ai.execute_tool.duration", () => {
  test("counts calls in seconds, by tool and error, with the recommended buckets", async () => {
    const sdk = await openSdk();
    const engine = instrument(new ToolDispatchEngine(), sdk.telemetry);
    const ctx = contextOf([echo]);
    const executions = [
      await engine.dispatch({ id: "1", name: "tool", arguments: {} }, ctx),
      await engine.dispatch({ id: "2", name: "tool", arguments: {} }, ctx),
    ];
    await engine.dispatch({ id: "3", name: "tool", arguments: "{" }, ctx);
    const points = await sdk.points();
    const metric = { metric: "gen_ai.execute_tool.duration", unit: "s" };
    const own = { "gen_ai.tool.name": "tool", "gen_ai.tool.type": "function" };
    expect(points).toEqual([
      expect.objectContaining({ ...metric, attributes: own, count: 2 }),
      expect.objectContaining({
        ...metric,
        attributes: { ...own, "error.type": "validation_error" },
        count: 1,
      }),
    ]);
    const seconds = executions.reduce((sum, execution) => sum + (execution?.durationMs ?? 0) / 1_000, 0);
    expect(points[0]?.sum).toBeCloseTo(seconds, 9);
    expect(points[0]?.bounds).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
  });

  test("has one series for all names that no tool has", async () => {
    const sdk = await openSdk();
    const engine = instrument(new ToolDispatchEngine(), sdk.telemetry);
    for (const name of ["a", "b", "c"]) {
      await engine.dispatch({ id: name, name, arguments: {} }, contextOf([echo]));
    }
    const points = await sdk.points();
    expect(points.map(({ attributes, count }) => [attributes["gen_ai.tool.name"], count])).toEqual([
      ["_OTHER", 3],
    ]);
  });
});

describe("An instrumented engine", () => {
  test("returns and emits the same as the engine", async () => {
    const types: string[] = [];
    const events = new EventStream();
    events.on(({ type }) => types.push(type));
    const engine = instrument(new ToolDispatchEngine(), (await openSdk()).telemetry);
    const calls = [{ id: "c", name: "tool", arguments: { a: 1 } }];
    const executions = await engine.dispatchAll(calls, contextOf([echo], { more: { events } }));
    expect(executions.map((execution) => execution?.output)).toEqual([{ a: 1 }]);
    expect(types).toEqual(["tool.decided", "tool.started", "tool.completed"]);
    expect(engine.buildToolResultMessages(calls, executions)).toEqual(
      new ToolDispatchEngine().buildToolResultMessages(calls, executions),
    );
  });

  test("ends a span although its meter throws", async () => {
    const sdk = await openSdk();
    // The SDK uses the same object for what it does not measure.
    const meter: Meter = Object.create(createNoopMeter());
    meter.createHistogram = () => ({
      record: () => {
        throw new Error("the meter is broken");
      },
    });
    await spanOf(sdk, [echo], { options: { meter } });
  });

  test("writes nothing without an SDK", async () => {
    const engine = instrument(new ToolDispatchEngine());
    const execution = await engine.dispatch({ id: "c", name: "tool", arguments: {} }, contextOf([echo]));
    expect(execution?.success).toBe(true);
  });

  test("writes no span that the sampler drops, and still counts the call", async () => {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    const provider = new TracerProvider({ sampler: new AlwaysOffSampler(), spanProcessors });
    const sdk = await openSdk();
    const options = { meter: sdk.meter, tracer: provider.getTracer("test"), recordArguments: true };
    const engine = instrument(new ToolDispatchEngine(), options);
    await engine.dispatch({ id: "c", name: "tool", arguments: {} }, contextOf([echo]));
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect((await sdk.points()).map(({ count }) => count)).toEqual([1]);
  });

  test("throws synchronously if the context is invalid, as the engine does", async () => {
    const engine = instrument(new ToolDispatchEngine(), (await openSdk()).telemetry);
    const ctx = contextOf([echo], { more: { decisionTimeoutMs: 0 } });
    expect(() => engine.dispatch({ id: "c", name: "tool", arguments: {} }, ctx)).toThrow(TypeError);
  });
});
