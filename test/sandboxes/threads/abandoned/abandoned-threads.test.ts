import { describe, expect, test } from "vitest";
import { runStuck } from "../../../fixtures/stuck/run.ts";

async function run(what: string): Promise<Record<string, unknown>> {
  const { code, signal, stdout, stderr } = await runStuck("calls.ts", [what]);
  expect({ code, signal, stderr }).toMatchObject({ code: 0, signal: null });
  return JSON.parse(stdout);
}

const TIMEOUT = {
  code: "timeout",
  mayStillRun: true,
  detail: "its thread could not be terminated and is still running",
};
const CANCELLED = { ...TIMEOUT, code: "cancelled" };
const UNAVAILABLE = { code: "sandbox_unavailable", mayStillRun: false };
const OK = { code: "ok", mayStillRun: false };

describe("threads that cannot be ended", () => {
  test("a call whose thread cannot be ended times out, later calls of its tool are refused, and other tools run", async () => {
    expect(await run("one call")).toEqual({
      first: TIMEOUT,
      count: 1,
      again: {
        ...UNAVAILABLE,
        detail: "a thread that runs an earlier call of the tool could not be terminated",
      },
      other: OK,
      "count after close": 1,
      warning: "SandgateWarning SANDGATE_THREAD_ABANDONED",
    });
  });

  test.each([
    "cancelled",
    "cancelled while its thread is being ended",
  ])("a call whose thread cannot be ended settles when it is %s", async (what) => {
    expect(await run(what)).toMatchObject({ first: CANCELLED });
  });

  test("closing the sandboxes settles a call whose thread cannot be ended, and resolves", async () => {
    expect(await run("closed while it runs")).toMatchObject({ first: CANCELLED, count: 1 });
    expect(await run("closed while its thread is being ended")).toMatchObject({ first: TIMEOUT, count: 1 });
  });
});

describe("too many threads that cannot be ended", () => {
  test("no call starts if too many threads cannot be ended", async () => {
    expect(await run("too many")).toMatchObject({
      first: TIMEOUT,
      second: TIMEOUT,
      other: { ...UNAVAILABLE, detail: "2 threads could not be terminated and are still running" },
      count: 2,
    });
  });

  test("each of many simultaneous calls has an outcome if their threads cannot be ended", async () => {
    const { codes, settled, count, other } = await run("at once");
    expect({ codes, settled, count, other }).toMatchObject({
      codes: ["ok", "sandbox_unavailable", "timeout"],
      settled: 40,
      count: 2,
      other: UNAVAILABLE,
    });
  });
});
