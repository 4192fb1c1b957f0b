import { expect, test } from "vitest";
import { crash } from "./crashes/crash.ts";

const CALLS = 20;
const CRASHES = 20;

test("no effect lacks its record, wherever the process is killed, and verifying raises no false alarm", {
  timeout: 240_000,
}, async () => {
  const whole = await crash(0, CALLS, 4);
  expect(whole).toMatchObject({ effects: CALLS, unrecorded: [], alarms: [], endless: [], isTorn: false });
  expect(whole.steps).toBeGreaterThan(CALLS * 2);
  for (let index = 0; index < CRASHES; index++) {
    const step = 1 + Math.floor((index * whole.steps) / CRASHES);
    const report = await crash(step, CALLS, 4);
    expect(report, `killed at step ${step}`).toMatchObject({ unrecorded: [], alarms: [], endless: [] });
  }
});
