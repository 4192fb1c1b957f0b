import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { HostFunction } from "../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, hostTool } from "../../engine/helpers.ts";

afterEach(() => void vi.useRealTimers());

const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 10 } }) };
const endOf = async (host: HostFunction): Promise<unknown> => {
  const { receipt } = await dispatchTool(await contextFor([hostTool(host as never)], { policy }));
  return { ended: receipt.ended, mayStillRun: receipt.mayStillRun };
};

describe("The receipt of a host call that was stopped says", () => {
  test("confirmed, if the function ended", async () => {
    const heeding: HostFunction = (_input, { signal }) => once(signal, "abort");
    expect(await endOf(heeding)).toEqual({ ended: "confirmed", mayStillRun: undefined });
  });

  test("requested, if the function listens to its signal, but did not end", async () => {
    const deaf: HostFunction = (_input, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => {}));
    expect(await endOf(deaf)).toEqual({ ended: "requested", mayStillRun: true });
  });

  test("unknown, if the function could not be asked to stop", async () => {
    expect(await endOf(() => new Promise(() => {}))).toEqual({ ended: "unknown", mayStillRun: true });
  });

  test("nothing, if the call was not stopped", async () => {
    expect(await endOf(async () => 1)).toEqual({ ended: undefined, mayStillRun: undefined });
  });
});

test("A function that runs on for 30 s is reported once, and counted until it ends", async () => {
  const warnings: (string | undefined)[] = [];
  const listen = (warning: Error & { code?: string }): void => void warnings.push(warning.code);
  process.on("warning", listen);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const sandboxes = await openSandboxes();
  let end: (value: unknown) => void = () => {};
  const tool = hostTool(() => new Promise((resolve) => (end = resolve)));
  const cancel = new AbortController();
  const running = dispatchTool(await contextFor([tool], { sandboxes, signal: cancel.signal }));
  cancel.abort();
  await vi.advanceTimersByTimeAsync(100);
  expect((await running).error?.code).toBe("cancelled");
  await vi.advanceTimersByTimeAsync(29_000);
  expect(sandboxes.stats()).toEqual({ abandoned: 0, waiting: 0 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sandboxes.stats()).toEqual({ abandoned: 1, waiting: 0 });
  end(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(sandboxes.stats()).toEqual({ abandoned: 0, waiting: 0 });
  vi.useRealTimers();
  await sandboxes.close();
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", listen);
  expect(warnings.filter((code) => code === "SANDGATE_FUNCTION_ABANDONED")).toHaveLength(1);
});
