import { describe, expect, test } from "vitest";
import { LruMap } from "../../src/base/lru-map.ts";

describe("a map that drops the least recently used entries", () => {
  test("an LRU map drops the least recently used entry", () => {
    const evicted: string[] = [];
    const map = new LruMap<string, number>(2, { onEvicted: (key) => evicted.push(key) });
    map.set("a", 1);
    map.set("b", 2);
    expect(map.get("a")).toBe(1);
    map.set("c", 3);
    expect(evicted).toEqual(["b"]);
    map.set("a", 4);
    map.set("d", 5);
    expect(evicted).toEqual(["b", "c"]);
    expect(["a", "b", "c", "d"].map((key) => map.get(key))).toEqual([4, undefined, undefined, 5]);
  });

  test("an LRU map counts sizes by sizeOf, and drops as many entries as needed", () => {
    const evicted: string[] = [];
    const map = new LruMap<string, string>(10, {
      sizeOf: (text) => text.length,
      onEvicted: (key) => evicted.push(key),
    });
    map.set("a", "1234");
    map.set("a", "12");
    map.set("b", "1234");
    map.set("c", "1234");
    expect(evicted).toEqual([]);
    map.set("d", "1234567");
    expect(evicted).toEqual(["a", "b", "c"]);
    map.set("e", "more than ten");
    expect(evicted).toEqual(["a", "b", "c", "d"]);
    expect(map.get("e")).toBe("more than ten");
  });

  test("an LRU map neither counts deleted entries nor reports them as evicted", () => {
    const evicted: string[] = [];
    const map = new LruMap<string, number>(2, { onEvicted: (key) => evicted.push(key) });
    map.set("a", 1);
    map.set("b", 2);
    expect(map.delete("b")).toBe(true);
    expect(map.delete("b")).toBe(false);
    map.set("c", 3);
    expect(evicted).toEqual([]);
    map.get("a");
    map.set("b", 2);
    expect(evicted).toEqual(["c"]);
  });
});
