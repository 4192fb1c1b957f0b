// Writes a span with OpenTelemetry SDK 2, which requires version 1.9 of the API: it has no logs and no structured attributes.
import assert from "node:assert/strict";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { instrument } from "sandgate/opentelemetry";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const engine = instrument(new ToolDispatchEngine(), {
  tracer: provider.getTracer("packed"),
  recordArguments: true,
});
const fail = defineTool({
  name: "fail",
  description: "Fails.",
  inputSchema: { type: "object" },
  sideEffects: "none",
  host: () => {
    throw new Error("out of paper");
  },
});
await using sandboxes = await openSandboxes();
await engine.dispatch(
  { id: "call_1", name: "fail", arguments: '{"pages":[1]}' },
  {
    registry: new ToolRegistry().register(fail),
    policy: { check: () => allow({ sandbox: "host" }) },
    sandboxes,
    sessionId: "packed",
  },
);
const [span] = exporter.getFinishedSpans();
assert.equal(span.attributes["gen_ai.tool.call.arguments"], '{"pages":[1]}');
assert.deepEqual(
  span.events.map(({ name }) => name),
  ["gen_ai.execute_tool.exception"],
);
console.log("a span was written with OpenTelemetry SDK 2");
