import { afterEach, beforeEach, expect, test, vi } from "vitest";
// Inside: an hour passes on a fake clock, by which a server in another process would not go.
import { FollowedLists } from "../../../src/mcp/import/followed-lists.ts";
import { connectionTo } from "./text-server.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR = 60 * 60_000;

/** Follows lists whose server says how long they hold, and counts how often they are read. */
async function follow(ttlMs: number | undefined) {
  const { connection } = connectionTo("s", () => undefined);
  let reads = 0;
  const lists = {
    ttlMs,
    refresh: async () => {
      reads++;
      return [];
    },
  };
  const followed = new FollowedLists({
    connection,
    lists,
    kinds: ["tools"] as const,
    onNotice: undefined,
    onRefreshed: () => {},
  });
  await followed.open(Promise.resolve());
  return { followed, reads: () => reads };
}

test.each([
  [60_000, 60_000],
  [0, 10_000],
])("lists that hold for %i ms are read again after %i ms", async (ttlMs, delay) => {
  const { followed, reads } = await follow(ttlMs);
  await vi.advanceTimersByTimeAsync(delay - 1);
  expect(reads()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(reads()).toBe(2);
  followed.close();
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(reads()).toBe(2);
});

test("lists of a server that does not say how long they hold are not read again by themselves", async () => {
  const { followed, reads } = await follow(undefined);
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(reads()).toBe(1);
  followed.close();
});
