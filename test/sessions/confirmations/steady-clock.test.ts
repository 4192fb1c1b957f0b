import { expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";

function clockAt(start: number): { clock: SteadyClock; time: { wall: number; monotonic: number } } {
  const time = { wall: start, monotonic: 50 };
  const clock = new SteadyClock({ wall: () => time.wall, monotonic: () => time.monotonic });
  return { clock, time };
}

test("The clock follows the wall clock forward", () => {
  const { clock, time } = clockAt(1_000);
  time.wall = 9_000;
  time.monotonic += 10;
  expect(clock.now()).toBe(9_000);
});

test("The clock goes on while the wall clock is set back", () => {
  const { clock, time } = clockAt(100_000);
  time.wall = 0;
  time.monotonic += 250.75;
  expect(clock.now()).toBe(100_250);
  time.monotonic += 0.25;
  expect(clock.now()).toBe(100_251);
});

test("The clock does not stand still after the wall clock was set forward and corrected", () => {
  const { clock, time } = clockAt(1_000);
  time.wall = 500_000;
  expect(clock.now()).toBe(500_000);
  time.wall = 1_100;
  time.monotonic += 100;
  expect(clock.now()).toBe(500_100);
});

test("The clock is set to a later time that has passed, and not to an earlier one", () => {
  const { clock, time } = clockAt(1_000);
  clock.atLeast(5_000);
  clock.atLeast(4_000);
  time.monotonic += 5;
  expect(clock.now()).toBe(5_005);
});
