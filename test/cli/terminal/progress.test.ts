import { Writable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
// Inside: advances a fake clock, since a command shows progress only after seconds of work.
import { showProgress } from "../../../src/cli/progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Returns what is written while work takes some seconds. */
function written(seconds: number, isTTY: boolean, totalMs?: number): string {
  const parts: Buffer[] = [];
  const write = (chunk: Buffer, _: unknown, done: () => void): void => {
    parts.push(chunk);
    done();
  };
  const stderr = Object.assign(new Writable({ write }), { isTTY });
  const progress = showProgress({ stderr }, "verifying", totalMs);
  vi.advanceTimersByTime(seconds * 1_000);
  progress[Symbol.dispose]();
  return Buffer.concat(parts).toString();
}

test("short work shows nothing", () => {
  expect(written(1.5, true)).toBe("");
  expect(written(20, false)).toBe("");
});

test("a terminal has one line, which is removed at the end", () => {
  expect(written(3.5, true)).toBe("\r\u001b[Kverifying, 2s\r\u001b[Kverifying, 3s\r\u001b[K");
  expect(written(1.5, true, 10_000)).toBe(
    "\r\u001b[Kverifying, 10s left\r\u001b[Kverifying, 9s left\r\u001b[K",
  );
});

test("a log has a line every 30 seconds", () => {
  expect(written(65, false)).toBe("verifying, 30s\nverifying, 60s\n");
});
