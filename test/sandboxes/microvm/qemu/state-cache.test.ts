import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
// Inside: stores files that are no states, and more than eight; QEMU takes seconds to save a real one.
import { StateCache } from "../../../../src/sandboxes/microvm/qemu/state-cache.ts";

const PAGE = 4_096;

describe("the cache of saved machines", () => {
  let directory: string;
  let cache: StateCache;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "state-cache-"));
    cache = new StateCache(join(directory, "cache"));
    return cache.open();
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  test("has a machine's memory behind its state, from the beginning of a page, with holes for zeros", async () => {
    const memory = Buffer.alloc(9 * 1_024 * 1_024);
    for (const page of [0, 3, 4, 1_023, 1_024, 2_303])
      memory.fill(page % 251 || 5, page * PAGE, (page + 1) * PAGE);
    const source = join(directory, "memory");
    writeFileSync(source, memory);
    const file = await cache.store("key", Readable.from([Buffer.alloc(PAGE + 1, 1)]), source);
    expect(await cache.find("key")).toBe(file);
    const stored = readFileSync(file);
    expect(stored.length).toBe(2 * PAGE + memory.length);
    expect(stored.subarray(0, PAGE + 1).equals(Buffer.alloc(PAGE + 1, 1))).toBe(true);
    expect(stored.subarray(2 * PAGE).equals(memory)).toBe(true);
    expect(statSync(file).blocks * 512).toBeLessThan(memory.length / 10);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("keeps nothing of a machine whose memory cannot be read", async () => {
    const stored = cache.store("key", Readable.from(["state"]), join(directory, "absent"));
    await expect(stored).rejects.toThrow("ENOENT");
    expect(readdirSync(join(directory, "cache"))).toEqual([]);
    expect(await cache.find("key")).toBeUndefined();
  });

  test("removes what is no state, so that the machine is saved anew", async () => {
    const file = await cache.store("key", Readable.from(["state"]));
    for (const put of [
      () => writeFileSync(file, ""),
      () => mkdirSync(join(file, "x"), { recursive: true }),
      () => symlinkSync("/etc/hostname", file),
    ]) {
      await cache.remove("key");
      put();
      expect(await cache.find("key")).toBeUndefined();
      expect(readdirSync(join(directory, "cache"))).toEqual([]);
    }
  });

  test("keeps the eight machines that were used last", async () => {
    for (let machine = 0; machine < 10; machine++) await cache.store(`m${machine}`, Readable.from(["state"]));
    expect(readdirSync(join(directory, "cache")).length).toBe(8);
    expect(await cache.find("m9")).toBeDefined();
  });
});
