import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
// Inside: reads entries as another process would, and opens the directory to others between two uses.
import { ComponentCache } from "../../../../src/sandboxes/wasm/component/cache.ts";

const root = mkdtempSync(join(tmpdir(), "sandgate-cache-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const content = Buffer.from("what jco wrote");

describe("the cache of components", () => {
  test("gives back what was written, to any process that shares the directory, and nothing else", async () => {
    const directory = join(root, "shared", "deep");
    await new ComponentCache(directory).write("key", content);
    const other = new ComponentCache(directory);
    expect(await other.read("key")).toEqual(content);
    expect(await other.read("another")).toBeUndefined();
    expect(readdirSync(directory)).toEqual(["key"]);
  });

  test("keeps directory and entries to the user", async () => {
    const directory = join(root, "private");
    await new ComponentCache(directory).write("key", content);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, "key")).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["changed", (entry: Buffer) => Buffer.concat([entry.subarray(0, -1), Buffer.from("!")])],
    ["cut off", (entry: Buffer) => entry.subarray(0, -3)],
    ["empty", () => Buffer.alloc(0)],
  ])("takes an entry that is %s for missing", async (what, damage) => {
    const directory = join(root, what);
    const cache = new ComponentCache(directory);
    await cache.write("key", content);
    writeFileSync(join(directory, "key"), damage(readFileSync(join(directory, "key"))));
    expect(await cache.read("key")).toBeUndefined();
    await cache.write("key", content);
    expect(await cache.read("key")).toEqual(content);
  });

  test("refuses a directory into which others could put code", async () => {
    const directory = join(root, "open");
    const cache = new ComponentCache(directory);
    await cache.write("key", content);
    chmodSync(directory, 0o777);
    await expect(cache.read("key")).rejects.toThrow(/others can write to the cache directory .*chmod 700/);
    chmodSync(directory, 0o700);
    expect(await cache.read("key")).toEqual(content);
  });

  test("does without a directory that cannot be made", async () => {
    writeFileSync(join(root, "file"), "");
    const cache = new ComponentCache(join(root, "file", "cache"));
    await cache.write("key", content);
    expect(await cache.read("key")).toBeUndefined();
  });
});
