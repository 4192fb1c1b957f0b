import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Backend,
  type Batch,
  checkOf,
  type Key,
  type OwnedRange,
  type Range,
  type SharedBackend,
} from "../../src/record/backend.ts";
import { transact } from "../../src/record/operations.ts";
import { IS_REST } from "../tier.ts";
import { NO_POSTGRES } from "./postgres-server.ts";
import { backendTargets } from "./targets.ts";

let openAnother: () => Promise<Backend>;
let backend: Backend;
let other: Backend;

async function valuesOf(range: Range, from = backend): Promise<readonly unknown[]> {
  const [entries = []] = await from.read([range]);
  return entries.map(({ value }) => value);
}

async function put(key: Key, value: unknown, through = backend): Promise<void> {
  expect(await through.apply({ checks: [], writes: [{ key, value }] })).toBeUndefined();
}

/** Whatever is true in the end, since a notification takes its time. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10);
}

const targets = backendTargets();

// A file with no test at all would fail.
test.skipIf(NO_POSTGRES !== undefined || !IS_REST)("A server of PostgreSQL is here", () => {
  expect(targets).toHaveLength(1);
});

describe.each(targets)("A backend $name", ({ open, isAlone = false, hasMembers, runs = 100 }) => {
  beforeEach(async () => {
    openAnother = await open();
    backend = await openAnother();
    other = isAlone ? backend : await openAnother();
  });
  afterEach(async () => {
    await backend.close();
    if (!isAlone) await other.close();
  });

  test("returns what was written, to every process, in the order of the keys", async () => {
    await put(["t", "b"], { n: 1 });
    await put(["t", "a", "y"], [null, "ü\ud83d\ude00", "\u0000", "\ud800"]);
    await put(["t", "a", "x"], 2, other);
    expect(await valuesOf({ below: ["t"] })).toEqual([
      2,
      [null, "ü\ud83d\ude00", "\u0000", "\ud800"],
      { n: 1 },
    ]);
    expect(await valuesOf({ below: ["t", "a"] }, other)).toEqual([
      2,
      [null, "ü\ud83d\ude00", "\u0000", "\ud800"],
    ]);
    expect(await valuesOf({ key: ["t", "b"] }, other)).toEqual([{ n: 1 }]);
    expect(await valuesOf({ key: ["t", "a"] })).toEqual([]);
  });

  test("has what was written when it is opened again, bytes also", async () => {
    const bytes = new Uint8Array([0, 255, 34, 1]);
    await put(["t", "a"], bytes);
    await put(["t", "b"], "b64:AA==");
    if (isAlone) {
      await backend.close();
      backend = await openAnother();
      other = backend;
    }
    const third = isAlone ? backend : await openAnother();
    const [read, text] = await valuesOf({ below: ["t"] }, third);
    expect(new Uint8Array(read as Uint8Array)).toEqual(bytes);
    expect(text).toBe("b64:AA==");
    if (!isAlone) await third.close();
  });

  test("reads for a write what the write is then based on, and waits until it is durable without one", async () => {
    const added = Promise.all(
      [1, 2, 3].map((amount) =>
        transact(backend, function* (transaction) {
          const sum = (yield* transaction.get<number>(["t", "sum"])) ?? 0;
          transaction.put(["t", "sum"], sum + amount);
        }),
      ),
    );
    const read = transact(backend, (transaction) => transaction.get<number>(["t", "sum"]));
    await added;
    expect(await valuesOf({ key: ["t", "sum"] }, other)).toEqual([6]);
    expect([undefined, 1, 3, 4, 5, 6]).toContain(await read);
  });

  test("takes keys that are alike for different ones, and any text for a part", async () => {
    const keys: Key[] = [
      ["t", "a"],
      ["t", "a", ""],
      ["t", "a/b"],
      ["t", "a", "b"],
      ["t", "a!"],
      ["t", "A"],
      ["t", "a\u0000"],
      ["t", "\ud800"],
      ["t", "\ufffd"],
      ["t", "%0021"],
      ["t", "!"],
      ["t", "é"],
      ["t", `${"x".repeat(5_000)}1`],
      ["t", `${"x".repeat(5_000)}2`],
    ];
    for (const [index, key] of keys.entries()) await put(key, index);
    for (const [index, key] of keys.entries()) expect(await valuesOf({ key })).toEqual([index]);
    expect(await valuesOf({ below: ["t", "a"] })).toEqual([1, 3]);
    expect(await valuesOf({ below: ["t"] })).toHaveLength(keys.length);
  });

  test("changes the version with each write, also of a key that was removed, and remembers which came first", async () => {
    await put(["t", "a"], 1);
    await put(["t", "b"], 1);
    await put(["t", "a"], 2, other);
    const [[a] = [], [b] = []] = await backend.read([{ key: ["t", "a"] }, { key: ["t", "b"] }]);
    expect(a?.version).toBeGreaterThan(b?.version ?? Number.NaN);
    expect(a?.created).toBeLessThan(b?.created ?? Number.NaN);
    await backend.apply({ checks: [], writes: [{ key: ["t", "a"], remove: true }] });
    await put(["t", "a"], 2);
    const [[again] = []] = await backend.read([{ key: ["t", "a"] }]);
    expect(again?.version).toBeGreaterThan(a?.version ?? Number.NaN);
    expect(again?.created).toBe(again?.version);
  });

  test("writes a batch whole, and removes keys and what is below them", async () => {
    for (const rest of ["1", "2"]) await put(["t", "a", rest], rest);
    await put(["t", "a"], "itself");
    await put(["t", "ab"], "beside");
    const batch: Batch = {
      checks: [],
      writes: [
        { below: ["t", "a"], remove: true },
        { key: ["t", "a", "3"], value: 3 },
        { key: ["t", "ab"], remove: true },
        { key: ["t", "never"], remove: true },
      ],
    };
    expect(await backend.apply(batch)).toBeUndefined();
    expect(await valuesOf({ below: ["t"] }, other)).toEqual(["itself", 3]);
  });

  test("writes nothing of a batch if a check fails, and says which", async () => {
    await put(["t", "a"], 1);
    const one: OwnedRange = { key: ["t", "a"] };
    const all: OwnedRange = { below: ["u", "a"] };
    const [ofOne = [], ofAll = []] = await backend.read([one, all]);
    const checks = [checkOf(one, ofOne), checkOf(all, ofAll)];
    const batch: Batch = { checks, writes: [{ key: ["v", "c"], value: 1 }] };
    await put(["u", "a", "new"], 1, other);
    expect(await backend.apply(batch)).toBe(1);
    await put(["t", "a"], 1, other);
    expect(await backend.apply(batch)).toBe(0);
    expect(await valuesOf({ below: ["v"] })).toEqual([]);
  });

  test.each([
    "added",
    "changed",
    "removed",
    "replaced",
  ])("finds that an entry of a range was %s", async (what) => {
    await put(["t", "a", "1"], 1);
    await put(["t", "a", "2"], 1);
    const range: OwnedRange = { below: ["t", "a"] };
    const [entries = []] = await backend.read([range]);
    const checks = [checkOf(range, entries)];
    if (what === "added") await put(["t", "a", "0"], 1, other);
    if (what === "changed") await put(["t", "a", "1"], 1, other);
    if (what === "removed" || what === "replaced") {
      await other.apply({ checks: [], writes: [{ key: ["t", "a", "1"], remove: true }] });
    }
    if (what === "replaced") await put(["t", "a", "3"], 1, other);
    expect(await backend.apply({ checks, writes: [{ key: ["t", "b"], value: 1 }] })).toBe(0);
  });

  test("lets one of several batches at once write what all of them found missing", async () => {
    const range: OwnedRange = { key: ["t", "a"] };
    const batches = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? backend : other).apply({
        checks: [checkOf(range, [])],
        writes: [{ key: ["t", "a"], value: index }],
      }),
    );
    const failed = await Promise.all(batches);
    expect(failed.filter((check) => check === undefined)).toHaveLength(1);
    expect(await valuesOf(range)).toEqual([failed.indexOf(undefined)]);
  });

  test("notifies of changes in a range, whoever makes them", async () => {
    const seen = { key: 0, below: 0, table: 0, other: 0 };
    const stop = backend.watch({ key: ["t", "a"] }, () => seen.key++);
    backend.watch({ below: ["t", "a"] }, () => seen.below++);
    backend.watch({ below: ["t"] }, () => seen.table++);
    await put(["t", "a"], 1, other);
    await eventually(() => seen.key > 0 && seen.table > 0);
    Object.assign(seen, { key: 0, below: 0, table: 0 });
    stop();
    await put(["t", "a", "1"], 1, other);
    await eventually(() => seen.below > 0 && seen.table > 0);
    expect(seen.key).toBe(0);
    Object.assign(seen, { below: 0 });
    await other.apply({ checks: [], writes: [{ below: ["t", "a"], remove: true }] });
    await eventually(() => seen.below > 0);
  });

  test.runIf(hasMembers)("knows who has it open, until they close it", async () => {
    const [one, second, third] = [backend, other, await openAnother()] as SharedBackend[] as [
      SharedBackend,
      SharedBackend,
      SharedBackend,
    ];
    expect(await one.members()).toEqual(new Set([one.member, second.member, third.member]));
    expect(second.member).not.toBe(one.member);
    await third.close();
    expect(await one.members()).not.toContain(third.member);
  });

  test("runs operations of several processes as if each was alone", async () => {
    const accounts = fc.constantFrom("a", "b", "c");
    const transfer = fc.record({
      from: accounts,
      to: accounts,
      amount: fc.integer({ min: 1, max: 9 }),
      here: fc.boolean(),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(transfer, { minLength: 1, maxLength: 12 }), async (transfers) => {
        const table = `t${++round}`;
        for (const account of ["a", "b", "c"]) await put([table, account], 10);
        const done = await Promise.all(
          transfers.map(({ from, to, amount, here }) =>
            transact(here ? backend : other, function* (transaction) {
              const before = (yield* transaction.get<number>([table, from])) ?? 0;
              if (before < amount || from === to) return false;
              transaction.put([table, from], before - amount);
              transaction.put([table, to], ((yield* transaction.get<number>([table, to])) ?? 0) + amount);
              return true;
            }),
          ),
        );
        const left = (await valuesOf({ below: [table] })) as number[];
        const expected = ["a", "b", "c"].map((account) =>
          transfers.reduce((sum, { from, to, amount }, index) => {
            if (done[index] !== true) return sum;
            return sum + (to === account ? amount : 0) - (from === account ? amount : 0);
          }, 10),
        );
        expect(left).toEqual(expected);
        expect(left.every((amount) => amount >= 0)).toBe(true);
      }),
      { numRuns: runs, seed: 40 },
    );
  });

  test("answers any batches as a map would", async () => {
    const part = fc.constantFrom("a", "b", "a/b", "");
    const key = fc.tuple(part, part).map(([owner, rest]): Key => ["t", owner, rest]);
    const write = fc.oneof(
      fc.record({ key, value: fc.jsonValue({ maxDepth: 1 }) }),
      fc.record({ key, remove: fc.constant(true as const) }),
      part.map((owner) => ({ below: ["t", owner] as Key, remove: true as const })),
    );
    const step = fc.record({
      checked: fc.array(key, { maxLength: 2 }),
      isStale: fc.boolean(),
      writes: fc.array(write, { minLength: 1, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        await backend.apply({
          checks: [],
          writes: ["a", "b", "a/b", ""].map((owner) => ({ below: ["t", owner], remove: true })),
        });
        const model = new Map<string, unknown>();
        for (const { checked, isStale, writes } of steps) {
          const ranges = checked.map((each): OwnedRange => ({ key: each }));
          const read = await backend.read(ranges);
          const checks = ranges.map((range, index) => checkOf(range, read[index] ?? []));
          const first = checked[0];
          if (isStale && first !== undefined) {
            await put(first, "changed", other);
            model.set(JSON.stringify(first), "changed");
          }
          const failed = await backend.apply({ checks, writes });
          expect(failed).toBe(isStale && first !== undefined ? 0 : undefined);
          if (failed !== undefined) continue;
          for (const each of writes) {
            if ("value" in each) model.set(JSON.stringify(each.key), each.value);
            else if ("key" in each) model.delete(JSON.stringify(each.key));
            else
              for (const text of model.keys()) if (JSON.parse(text)[1] === each.below[1]) model.delete(text);
          }
          for (const owner of ["a", "b", "a/b", ""]) {
            for (const rest of ["a", "b", "a/b", ""]) {
              const [value] = await valuesOf({ key: ["t", owner, rest] }, other);
              const known = model.get(JSON.stringify(["t", owner, rest]));
              expect(isDeepStrictEqual(value, known), `${owner} ${rest}`).toBe(true);
            }
          }
        }
      }),
      { numRuns: Math.min(runs, 20), seed: 41 },
    );
  });
});
