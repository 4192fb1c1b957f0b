import { expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { SessionMetrics } from "../../src/server/session-metrics.ts";
import type { Inquiry } from "../../src/sessions/confirmations/inquiry.ts";

/** Returns the values of the gauges of a server with inquiries of these ages, in seconds. */
function gauges(ages: readonly number[]): Readonly<Record<string, number | undefined>> {
  const inquiries = ages.map((age) => ({ askedAt: Date.now() - age * 1_000 }) as Inquiry);
  const metrics = new SessionMetrics({
    sessions: { problem: undefined, openInquiries: () => inquiries },
    admin: { isPaused: false },
    tools: { registry: new ToolRegistry() },
    events: new EventStream(),
  });
  return Object.fromEntries(metrics.read().map(({ name, samples }) => [name, samples[0]?.value]));
}

test("the age of the oldest inquiry does not depend on their order", () => {
  const age = gauges([5, 90, 30])["sandgate_inquiry_oldest_age_seconds"] ?? 0;
  expect(Math.round(age)).toBe(90);
});

test("there is no age without inquiries, and none below zero if the clock was set back", () => {
  expect(gauges([])).toMatchObject({ sandgate_inquiries_open: 0, sandgate_inquiry_oldest_age_seconds: 0 });
  expect(gauges([-100])).toMatchObject({
    sandgate_inquiries_open: 1,
    sandgate_inquiry_oldest_age_seconds: 0,
  });
});
