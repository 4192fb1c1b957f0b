import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { type KeyValueChange, MemoryKeyValue } from "../../../src/tool/key-value-store.ts";
import { ToolsetScene } from "../toolset-scene.ts";

const { signal } = new AbortController();

/** Stores that answer in a later turn of the event loop, as those on a disk do. */
class SlowStores extends MemoryKeyValue {
  override open(name: string, sessionId: string) {
    const store = super.open(name, sessionId);
    return {
      get: async (key: string) => {
        await setImmediate();
        return store.get(key, signal);
      },
      update: async (changes: readonly KeyValueChange[]) => {
        await setImmediate();
        await store.update(changes, signal);
      },
      set: (key: string, value: Uint8Array) => store.set(key, value, signal),
      delete: (key: string) => store.delete(key, signal),
      listKeys: (after: string | undefined, count: number) => store.listKeys(after, count, signal),
    };
  }
}

async function openMemory(options?: { readonly maxKeys?: number }) {
  const stores = new MemoryKeyValue(options);
  const scene = await ToolsetScene.open("memory", {}, { stores });
  const store = stores.open("memory", "session");
  const add = async (text: string): Promise<string> => {
    const { output } = await scene.call("memory_add", { text });
    return (output as { key: string }).key;
  };
  const entries = async (): Promise<Record<string, string>> => {
    const keys = await store.listKeys(undefined, 1_000, signal);
    const texts = keys.map(async (key) => [
      key,
      Buffer.from((await store.get(key, signal)) ?? []).toString(),
    ]);
    return Object.fromEntries(await Promise.all(texts));
  };
  return { scene, add, entries };
}

test("an entry is added under a key of its own, and replaced", async () => {
  const { scene, add, entries } = await openMemory();
  await using _ = scene;
  const [one, two] = [await add("likes tea"), await add("likes tea")];
  expect(one).not.toBe(two);
  expect(await scene.call("memory_replace", { key: one, text: "likes coffee" })).toMatchObject({
    output: { key: one },
  });
  expect(await entries()).toEqual({ [one]: "likes coffee", [two]: "likes tea" });
});

test("entries are replaced by one", async () => {
  const { scene, add, entries } = await openMemory();
  await using _ = scene;
  const keys = [await add("a"), await add("b")];
  const kept = await add("c");
  const { output } = await scene.call("memory_consolidate", { keys, text: "a and b" });
  expect(await entries()).toEqual({ [kept]: "c", [(output as { key: string }).key]: "a and b" });
});

test("nothing changes if one of the entries does not exist", async () => {
  const { scene, add, entries } = await openMemory();
  await using _ = scene;
  const key = await add("a");
  expect(await scene.call("memory_consolidate", { keys: [key, "m-0"], text: "b" })).toMatchObject({
    error: {
      code: "validation_error",
      message: "Nothing is remembered under 'm-0': use a key that memory_add or memory_consolidate returned",
      effect: "none",
    },
  });
  expect(await entries()).toEqual({ [key]: "a" });
});

test("a full memory says how to make room, and consolidating makes it", async () => {
  const { scene, add, entries } = await openMemory({ maxKeys: 2 });
  await using _ = scene;
  const keys = [await add("a"), await add("b")];
  expect(await scene.call("memory_add", { text: "c" })).toMatchObject({
    error: {
      message: "The memory is full: replace several entries by a shorter one with memory_consolidate",
      effect: "none",
    },
  });
  await scene.call("memory_consolidate", { keys, text: "a, b" });
  await add("c");
  expect(Object.values(await entries()).sort()).toEqual(["a, b", "c"]);
});

test("a session cannot reach the entries of another one", async () => {
  const { scene, add, entries } = await openMemory();
  await using _ = scene;
  const key = await add("a");
  const { error } = await scene.call("memory_replace", { key, text: "b" }, { sessionId: "other" });
  expect(error?.code).toBe("validation_error");
  expect(await entries()).toEqual({ [key]: "a" });
});

test("an entry is replaced by one of several calls that run at once", async () => {
  const stores = new SlowStores();
  await using scene = await ToolsetScene.open("memory", {}, { stores });
  const { output } = await scene.call("memory_add", { text: "a" });
  const { key } = output as { key: string };
  const results = await Promise.all([
    scene.call("memory_consolidate", { keys: [key], text: "b" }),
    scene.call("memory_consolidate", { keys: [key], text: "c" }),
    scene.call("memory_replace", { key, text: "d" }),
  ]);
  expect(results.map(({ error }) => error?.code)).toEqual([
    undefined,
    "validation_error",
    "validation_error",
  ]);
  expect(await stores.open("memory", "session").listKeys(undefined, 10)).toEqual([
    (results[0].output as { key: string }).key,
  ]);
});

test("a call that was cancelled while it waited for another one changes nothing", async () => {
  const stores = new SlowStores();
  await using scene = await ToolsetScene.open("memory", {}, { stores });
  const cancelling = new AbortController();
  const first = scene.call("memory_add", { text: "a" });
  const second = scene.call("memory_add", { text: "b" }, { signal: cancelling.signal });
  cancelling.abort();
  const [{ output }] = await Promise.all([first, second.catch(() => undefined)]);
  await scene.call("memory_add", { text: "c" });
  const keys = await stores.open("memory", "session").listKeys(undefined, 10);
  expect(keys).toHaveLength(2);
  expect(keys).toContain((output as { key: string }).key);
});
