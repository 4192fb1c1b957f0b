import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FileWatch, stampOf } from "../../../../src/policy/file/policy-file.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-watch-"));
  path = join(folder, "file");
  await writeFile(path, "");
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

/** Lets the watch look at the file. */
async function look(): Promise<void> {
  await vi.advanceTimersByTimeAsync(100);
  await stampOf(path);
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

test("A watched file counts as changed only when it has been left alone for a while", async () => {
  const changed = vi.fn();
  using _watch = new FileWatch(path, await stampOf(path), changed);
  // Without an event, it is looked at from time to time.
  await vi.advanceTimersByTimeAsync(2_000);
  for (let size = 1; size <= 5; size++) {
    await writeFile(path, "x".repeat(size));
    await look();
  }
  expect(changed).not.toHaveBeenCalled();
  await look();
  await look();
  expect(changed).toHaveBeenCalledTimes(1);
  await look();
  expect(changed).toHaveBeenCalledTimes(1);
});

test("A watch that is closed sets no timers, and calls nothing", async () => {
  const changed = vi.fn();
  const watch = new FileWatch(path, "other", changed);
  await vi.advanceTimersByTimeAsync(2_000);
  watch[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(changed).not.toHaveBeenCalled();
});

test("The directory of a watched file need not exist", async () => {
  const missing = join(folder, "missing", "file");
  using _watch = new FileWatch(missing, await stampOf(missing), () => {});
  expect(await stampOf(missing)).toBe("unreadable");
});
