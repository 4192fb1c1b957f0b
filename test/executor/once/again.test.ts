import { describe, expect, test } from "vitest";
import { type ProcessStamp, readProcessStamp } from "../../../src/remote-protocol/http.ts";
import {
  type Answer,
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  HeldTool,
  problemOf,
  send,
  startExecutor,
  until,
} from "../harness.ts";

function stampOf({ headers }: Answer): ProcessStamp {
  const stamp = readProcessStamp(headers["sandgate-executor"]);
  if (stamp === undefined) throw new Error("the answer names no process");
  return stamp;
}

function body(name: string, more: object, id = "lost"): string {
  return JSON.stringify({ ...JSON.parse(dispatchBody({ id, name })), ...more });
}

describe("the process that answers", () => {
  test("every answer names the same process, also problems and probes, and its time never goes back", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const stamps = [
      await send(executor, { method: "GET", path: "/readyz" }),
      await send(executor, { method: "GET", path: "/nothing" }),
      await dispatch(executor, body("count", {})),
      await dispatch(executor, "{}"),
      await dispatch(executor, body("count", {}), { headers: { accept: "text/event-stream" } }),
    ].map(stampOf);
    expect(new Set(stamps.map(({ id }) => id)).size).toBe(1);
    const times = stamps.map(({ time }) => time);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("each start of an executor is another process", async () => {
    const executors = [await startExecutor([]), await startExecutor([])];
    const ids = executors.map(async (executor) => {
      return stampOf(await send(executor, { method: "GET", path: "/healthz" })).id;
    });
    expect(new Set(await Promise.all(ids)).size).toBe(2);
  });

  test.each([
    undefined,
    "",
    '"0123"',
    `"${"0".repeat(32)}"`,
    `"${"0".repeat(32)}";time=-1`,
    ["x"],
  ])("a malformed stamp %j names no process", (value) => {
    expect(readProcessStamp(value)).toBeUndefined();
  });

  test("a call for another process is refused, and does not run", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const refused = await dispatch(executor, body("count", { executor: "0".repeat(32) }));
    expect([problemOf(refused), counting.calls]).toEqual(["417 other_executor", 0]);
    const { id } = stampOf(refused);
    expect(executionOf(await dispatch(executor, body("count", { executor: id }))).success).toBe(true);
  });
});

describe("a call that is sent again", () => {
  test("a call that is sent again gets its execution, whether it runs or has ended", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const first = dispatch(executor, body("hold", {}));
    await until(() => held.started.length === 1);
    const joined = dispatch(executor, body("hold", { again: {} }));
    await until(() => held.started.length === 1);
    held.release();
    const answers = [await first, await joined, await dispatch(executor, body("hold", { again: {} }))];
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(answers.at(-1)?.headers["idempotency-replayed"]).toBe("true");
    expect(held.started).toHaveLength(1);
  });

  test("an unknown call that is sent again does not run if another process may have run it", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const { time } = stampOf(await send(executor, { method: "GET", path: "/readyz" }));
    for (const more of [{ again: {} }, { again: { after: time } }]) {
      expect(problemOf(await dispatch(executor, body("count", more)))).toBe("424 unknown_call");
    }
    expect(counting.calls).toBe(0);
  });

  test("an unknown call that is sent again runs if only this process could have run it", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const { id, time } = stampOf(await send(executor, { method: "GET", path: "/readyz" }));
    const again = body("count", { executor: id, again: { after: time } });
    expect(executionOf(await dispatch(executor, again)).success).toBe(true);
    expect(executionOf(await dispatch(executor, again)).success).toBe(true);
    expect(counting.calls).toBe(1);
    // Without a time, it may have run and been forgotten.
    const untimed = body("count", { executor: id, again: {} }, "other");
    expect(problemOf(await dispatch(executor, untimed))).toBe("424 unknown_call");
  });

  test("an unknown call that is sent again does not run if it may have been forgotten", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool], {
      limits: { window: { calls: 2, bytes: 1_000_000, ageMs: 600_000 } },
    });
    const { id, time } = stampOf(await send(executor, { method: "GET", path: "/readyz" }));
    const lost = body("count", { executor: id });
    expect(executionOf(await dispatch(executor, lost)).success).toBe(true);
    for (const other of ["a", "b"]) await dispatch(executor, body("count", {}, other));
    const again = body("count", { executor: id, again: { after: time } });
    expect(problemOf(await dispatch(executor, again))).toBe("424 unknown_call");
    expect(counting.calls).toBe(3);
  });
});
