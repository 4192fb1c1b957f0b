import { describe, expect, test } from "vitest";
// Inside: fills 128 MiB with the events of 40 sessions, without tools that write as much.
import { EventLog, EventLogs } from "../../src/server/event-stream.ts";

describe("the events that are kept of a session", () => {
  test("are at most 1,000, and a reader learns how many it has lost", () => {
    const logs = new EventLogs();
    for (let number = 1; number <= 2_500; number++) logs.add("s", { type: "tool.output", data: "{}" });
    const log = logs.of("s");
    expect(log.last).toBe(2_500);
    expect(log.after(0)).toMatchObject({ event: { number: 1_501 }, lost: 1_500 });
    expect(log.after(1_600)).toMatchObject({ event: { number: 1_601 }, lost: 0 });
    expect(log.after(2_500)).toEqual({ event: undefined, lost: 0 });
  });

  test("have at most 4 MiB, however large each is", () => {
    const logs = new EventLogs();
    const data = JSON.stringify("x".repeat(500_000));
    for (let number = 0; number < 20; number++) logs.add("s", { type: "tool.output", data });
    expect(logs.of("s").after(0)).toMatchObject({ event: { number: 17 }, lost: 16 });
    logs.add("s", { type: "tool.output", data: JSON.stringify("x".repeat(5_000_000)) });
    expect(logs.of("s").after(0)).toEqual({ event: undefined, lost: 21 });
  });

  test("have at most 128 MiB in all sessions: the one that was silent for longest loses its events", () => {
    const logs = new EventLogs();
    const data = JSON.stringify("x".repeat(1_900_000));
    for (let session = 0; session < 40; session++) logs.add(`s${session}`, { type: "tool.output", data });
    expect(logs.of("s0").after(0)).toEqual({ event: undefined, lost: 1 });
    expect(logs.of("s39").after(0)).toMatchObject({ event: { number: 1 }, lost: 0 });
    logs.add("s0", { type: "tool.output", data: "{}" });
    expect(logs.of("s0").after(1)).toMatchObject({ event: { number: 2 }, lost: 0 });
  });

  test("are forgotten when the session is closed, which ends the wait of its readers", async () => {
    let bytes = 0;
    const log = new EventLog({ events: 10, bytes: 10_000 }, (change) => {
      bytes += change;
    });
    log.add({ type: "tool.output", data: "{}" });
    const waiting = log.wait(new AbortController().signal, 60_000);
    log.close();
    await waiting;
    expect([log.isClosed, bytes]).toEqual([true, 0]);
  });
});
