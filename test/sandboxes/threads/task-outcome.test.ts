import { describe, expect, test } from "vitest";
// Inside: a thread that cannot be ended, and a task that starts as it is given up, cannot be caused.
import { readQuickJsOutcome as readQuickJs } from "../../../src/sandboxes/quickjs/outcome.ts";
import { endedOutcome, PoolTask } from "../../../src/sandboxes/threads/pool-task.ts";
import { readWasmOutcome as readWasm } from "../../../src/sandboxes/wasm/outcome.ts";

const READERS = {
  QuickJS: (outcome: Parameters<typeof readQuickJs>[0]) =>
    readQuickJs(outcome, { wallTimeMs: 1 }, "none", 10),
  Wasm: (outcome: Parameters<typeof readWasm>[0]) =>
    readWasm(outcome, { effect: "none", used: {} }, {}, { mayReuse: false, engine: undefined }),
};

describe("a task that was ended since no thread had started it for too long", () => {
  function ended(startedAt: bigint): ReturnType<typeof endedOutcome> {
    const options = { wallTimeMs: undefined, signal: undefined, observer: { output() {}, log() {} } };
    const task = new PoolTask(
      undefined,
      options,
      () => {},
      () => {},
    );
    task.cause = "waited";
    task.thread = { startedAt: () => startedAt, takeBack: () => false, endUnder: () => {} };
    return endedOutcome(task, true);
  }

  test("did not run", () => {
    expect(ended(0n)).toMatchObject({ status: "unavailable" });
  });

  test("counts as run if it started just then", () => {
    expect(ended(process.hrtime.bigint())).toMatchObject({ status: "timeout", started: true });
  });
});

describe.each(Object.entries(READERS))("outcomes of %s", (_name, read) => {
  test.each([
    "timeout",
    "cancelled",
  ] as const)("an outcome says if the thread could not be ended: %s", (status) => {
    const ended = { status, started: true, wallTimeMs: 1 } as const;
    const used = { wallTimeMs: 1 };
    expect(read(ended)).toEqual({ status, effect: "none", used });
    expect(read({ ...ended, mayStillRun: true })).toEqual({
      status,
      effect: "none",
      used,
      mayStillRun: true,
      ended: "requested",
      detail: "its thread could not be terminated and is still running",
    });
  });
});
