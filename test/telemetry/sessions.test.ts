import { afterAll, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { callTracer } from "../../src/telemetry/call-tracer.ts";
import { hostTool } from "../engine/helpers.ts";
import { startServer, TestClient, WritingTool } from "../server/harness.ts";
import { openSdk } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

test("the calls of sessions that were opened with a tracer have spans", async () => {
  const sdk = await openSdk();
  const registry = new ToolRegistry().register(hostTool((input) => input, { sideEffects: "read" }));
  const policy = { check: () => allow({ sandbox: "host" }) };
  await using sessions = await openSessions({
    registry,
    policy,
    sandboxes,
    tracer: callTracer(sdk.telemetry),
  });
  const session = await sessions.open();
  await session.turn().dispatch({ id: "c1", name: "tool", arguments: {} });
  const spans = await sdk.spans();
  expect(spans.map(({ name }) => name)).toEqual(["execute_tool tool"]);
});

test("the calls of a message belong to the trace of its request", async () => {
  const sdk = await openSdk();
  const writing = new WritingTool("read_note", { sideEffects: "read" });
  const server = await startServer([writing.tool], { tracer: callTracer(sdk.telemetry) });
  const alice = new TestClient(server, "alice");
  const id = await alice.open();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  for (const traceparent of [
    `00-${traceId}-b7ad6b7169203331-01`,
    "00-nonsense",
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
  ]) {
    const body = JSON.stringify({
      calls: [{ id: "c1", name: "read_note", arguments: {} }],
      turnId: traceparent.slice(0, 8) + Math.random(),
    });
    const headers = {
      ...alice.authorization,
      "content-type": "application/json",
      accept: "text/event-stream",
      traceparent,
    };
    expect((await alice.send("POST", `/v1/sessions/${id}/turns`, undefined, { headers, body })).status).toBe(
      200,
    );
  }
  const spans = await sdk.spans();
  expect(spans.map((span) => span.traceId === traceId)).toEqual([true, false, false]);
});
