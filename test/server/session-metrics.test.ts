import { expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
// Inside: gives confirmations any age, also one below zero, without waiting or setting the clock.
import { SessionMetrics } from "../../src/server/session-metrics.ts";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { startServer, TestClient, WritingTool } from "./harness.ts";

/** Returns the values of the gauges of a server with confirmations of these ages, in seconds. */
function gauges(ages: readonly number[]): Readonly<Record<string, number | undefined>> {
  const confirmations = ages.map((age) => ({ askedAt: Date.now() - age * 1_000 }) as Confirmation);
  const metrics = new SessionMetrics({
    sessions: { problem: undefined, openConfirmations: () => confirmations, onConfirmation: () => () => {} },
    admin: { isPaused: false },
    tools: { registry: new ToolRegistry() },
    events: new EventStream(),
  });
  return Object.fromEntries(metrics.read().map(({ name, samples }) => [name, samples[0]?.value]));
}

test("the age of the oldest confirmation does not depend on their order", () => {
  const age = gauges([5, 90, 30])["sandgate_confirmation_oldest_age_seconds"] ?? 0;
  expect(Math.round(age)).toBe(90);
});

test("there is no age without confirmations, and none below zero if the clock was set back", () => {
  expect(gauges([])).toMatchObject({
    sandgate_confirmations_open: 0,
    sandgate_confirmation_oldest_age_seconds: 0,
  });
  expect(gauges([-100])).toMatchObject({
    sandgate_confirmations_open: 1,
    sandgate_confirmation_oldest_age_seconds: 0,
  });
});

test("decisions are counted by rule, and answers of people by how they ended and how long they took", async () => {
  const server = await startServer([new WritingTool().tool]);
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const session = await alice.open();
  for (const decision of ["allow", "deny", "deny"] as const) {
    const { turnId } = await alice.dispatch(session, [{ id: decision, name: "write_note", arguments: {} }]);
    const [confirmation] = await carol.confirmations(1);
    if (confirmation === undefined) throw new Error("nothing was asked");
    await carol.answer(confirmation, { decision });
    await alice.executions(session, turnId);
  }
  const { text } = await new TestClient(server, "erin").send("GET", "/metrics");
  const lines = text.split("\n");
  expect(lines).toContain('sandgate_confirmations_total{kind="call",decision="allow"} 1');
  expect(lines).toContain('sandgate_confirmations_total{kind="call",decision="deny"} 2');
  expect(lines).toContain('sandgate_confirmation_seconds_bucket{le="+Inf"} 3');
  // The policy is consulted again after an answer, which is no further decision.
  expect(lines.filter((line) => /^sandgate_decisions_total\{.*decision="ask"\} 3$/.test(line)).length).toBe(
    1,
  );
  expect(lines).toContain('sandgate_session_call_duration_seconds_count{sandbox="host"} 3');
});
