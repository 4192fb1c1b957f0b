import { describe, expect, test } from "vitest";
// Inside: a component cannot be made to return just after its deadline.
import { readWasmOutcome } from "../../../src/sandboxes/wasm/outcome.ts";
import type { WasmAnswer } from "../../../src/sandboxes/wasm/thread/thread-task.ts";

const ANSWER: WasmAnswer = {
  status: "returned",
  text: "1",
  memoryBytes: 65_536,
  atMemoryCap: false,
  logLines: 0,
  writtenBytes: 0,
  hasChangedFiles: false,
  isReused: false,
};

function outcomeAfter(wallTimeMs: number): string {
  const returned = { status: "returned", result: ANSWER, wallTimeMs } as const;
  const options = { mayReuse: false, engine: undefined };
  return readWasmOutcome(returned, { effect: "unknown", used: {} }, { wallTimeMs: 300 }, options).status;
}

describe("the outcome of a component", () => {
  test("a component that returns in time succeeds", () => {
    expect(outcomeAfter(299.9)).toBe("completed");
  });

  test("a component that returns after its deadline has timed out, whatever it returns", () => {
    expect(outcomeAfter(300.1)).toBe("timeout");
  });
});
