import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyValueFullError, MemoryKeyValue } from "../../src/tool/key-value-store.ts";

const { signal } = new AbortController();
const bytes = (count: number): Uint8Array => new Uint8Array(count);

describe("MemoryKeyValue", () => {
  test("a store in memory behaves like a map", async () => {
    const key = fc.constantFrom("a", "b", "__proto__", "\u{1f600}");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), key, value: fc.uint8Array({ maxLength: 4 }) }),
      fc.record({ kind: fc.constant("delete" as const), key }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const store = new MemoryKeyValue().open("store", "session");
        const model = new Map<string, Uint8Array>();
        for (const each of steps) {
          if (each.kind === "set") {
            await store.set(each.key, each.value, signal);
            model.set(each.key, each.value);
          } else {
            await store.delete(each.key, signal);
            model.delete(each.key);
          }
        }
        const keys = await store.listKeys(undefined, 10, signal);
        expect(keys).toEqual([...model.keys()].sort());
        for (const [name, value] of model) expect(await store.get(name, signal)).toEqual(value);
      }),
    );
  });

  test("several changes of a store are made together, or not at all", async () => {
    const store = new MemoryKeyValue({ maxKeys: 2 }).open("store", "session");
    await store.update(
      [
        { key: "a", value: bytes(1) },
        { key: "b", value: bytes(1) },
      ],
      signal,
    );
    const tooMany = [
      { key: "a", value: undefined },
      { key: "c", value: bytes(1) },
      { key: "d", value: bytes(1) },
    ];
    await expect(async () => store.update(tooMany, signal)).rejects.toThrow(KeyValueFullError);
    expect(await store.listKeys(undefined, 10, signal)).toEqual(["a", "b"]);
    await store.update(tooMany.slice(0, 2), signal);
    expect(await store.listKeys(undefined, 10, signal)).toEqual(["b", "c"]);
  });

  test("a store in memory copies the values that it gets and returns", async () => {
    const store = new MemoryKeyValue().open("store", "session");
    const value = bytes(1);
    await store.set("a", value, signal);
    value[0] = 1;
    const got = await store.get("a", signal);
    expect(got).toEqual(bytes(1));
    if (got !== undefined) got[0] = 2;
    expect(await store.get("a", signal)).toEqual(bytes(1));
  });

  test("a store in memory stays within its bounds, and frees the space of deleted values", async () => {
    const store = new MemoryKeyValue({ maxKeys: 2, maxBytes: 10 }).open("store", "session");
    await store.set("a", bytes(4), signal);
    await store.set("b", bytes(4), signal);
    const set = (key: string, count: number) => () => store.set(key, bytes(count), signal);
    expect(set("c", 0)).toThrow(KeyValueFullError);
    expect(set("b", 5)).toThrow(KeyValueFullError);
    expect(set("b", 4)).not.toThrow();
    await store.delete("a", signal);
    expect(set("c", 4)).not.toThrow();
  });

  test("each session has its own stores in memory, and the least recently opened are deleted first", async () => {
    const stores = new MemoryKeyValue({ maxStores: 2 });
    await stores.open("a", "1").set("key", bytes(1), signal);
    expect(await stores.open("a", "2").get("key", signal)).toBeUndefined();
    expect(await stores.open("a", "1").get("key", signal)).toEqual(bytes(1));
    stores.open("b", "1");
    expect(await stores.open("a", "1").get("key", signal)).toEqual(bytes(1));
    stores.open("c", "1");
    stores.open("d", "1");
    expect(await stores.open("a", "1").get("key", signal)).toBeUndefined();
  });

  test("all stores in memory have bounded bytes together, and those that were not used for longest are deleted first", async () => {
    const stores = new MemoryKeyValue({ maxBytes: 10 });
    const sessions = Array.from({ length: 64 }, (_, index) => `${index}`);
    for (const session of sessions) await stores.open("a", session).set("key", bytes(7), signal);
    await stores.open("a", "0").set("key", bytes(6), signal);
    await stores.open("a", "new").set("key", bytes(7), signal);
    const has = async (session: string): Promise<boolean> =>
      (await stores.open("a", session).get("key", signal)) !== undefined;
    expect([await has("0"), await has("1"), await has("2"), await has("new")]).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test("a store in memory lists the first keys after a given one", async () => {
    const store = new MemoryKeyValue().open("store", "session");
    for (const key of ["c", "a", "b"]) await store.set(key, bytes(0), signal);
    expect(await store.listKeys(undefined, 2, signal)).toEqual(["a", "b"]);
    expect(await store.listKeys("a", 2, signal)).toEqual(["b", "c"]);
    expect(await store.listKeys("c", 2, signal)).toEqual([]);
  });
});
