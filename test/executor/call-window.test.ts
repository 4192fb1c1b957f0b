import { describe, expect, test } from "vitest";
import { CallWindow } from "../../src/executor/call-window.ts";

describe("the window of calls", () => {
  test("knows a call while it runs and after it ended, until it is too old", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 1_000, ageMs: 5_000 });
    expect(window.find("a", "1", 0)).toBeUndefined();
    window.begin("a", "1", "running");
    expect(window.find("a", "1", 0)).toEqual({ state: "running", call: "running" });
    window.end("a", "answer", 1_000);
    expect(window.find("a", "1", 5_900)).toEqual({ state: "answered", answer: "answer" });
    expect(window.find("a", "1", 7_000)).toBeUndefined();
    expect([window.size, window.bytes]).toEqual([0, 0]);
  });

  test("tells another call of the same name", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 1_000, ageMs: 5_000 });
    window.begin("a", "1", "running");
    expect(window.find("a", "2", 0)).toEqual({ state: "conflict" });
    window.end("a", "answer", 0);
    expect(window.find("a", "2", 0)).toEqual({ state: "conflict" });
  });

  test("forgets the answers first, oldest first, but not that the calls ran", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 20, ageMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      window.begin(name, "1", "");
      window.end(name, "12345", 0);
    }
    expect(window.bytes).toBe(20);
    expect(window.find("a", "1", 0)).toEqual({ state: "forgotten" });
    expect(window.find("c", "1", 0)).toEqual({ state: "answered", answer: "12345" });
    window.begin("d", "1", "");
    window.end("d", "longer than all of them", 0);
    expect(window.bytes).toBe(0);
    expect(window.find("d", "1", 0)).toEqual({ state: "forgotten" });
  });

  test("never remembers more calls than it may", () => {
    const window = new CallWindow<string>({ calls: 2, bytes: 1_000, ageMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      window.begin(name, "1", "");
      window.end(name, "x", 0);
    }
    expect(window.size).toBe(2);
    expect(window.find("a", "1", 0)).toBeUndefined();
  });

  test("forgets a call that never ran", () => {
    const window = new CallWindow<string>({ calls: 2, bytes: 1_000, ageMs: 5_000 });
    window.begin("a", "1", "");
    window.cancel("a");
    expect(window.find("a", "1", 0)).toBeUndefined();
  });
});
