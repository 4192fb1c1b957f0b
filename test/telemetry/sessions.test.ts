import { afterAll, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/decision.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { callTracer } from "../../src/telemetry/call-tracer.ts";
import { hostTool } from "../engine/helpers.ts";
import { openSdk } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

test("the calls of sessions that were opened with a tracer have spans", async () => {
  const sdk = await openSdk();
  const registry = new ToolRegistry().register(hostTool((input) => input, { sideEffects: "read" }));
  const policy = { check: () => allow({ sandbox: "host" }) };
  await using sessions = await openSessions({ registry, policy, sandboxes, tracer: callTracer(sdk) });
  const session = await sessions.open();
  await session.turn().dispatch({ id: "c1", name: "tool", arguments: {} });
  const spans = await sdk.spans();
  expect(spans.map(({ name }) => name)).toEqual(["execute_tool tool"]);
});
