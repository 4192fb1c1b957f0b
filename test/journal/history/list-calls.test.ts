import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import type { HistoryCall } from "../../../src/journal/history/list-calls.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import { backwardLines, LineReader } from "../../../src/journal/storage/line-reader.ts";
import { denied, dispatched, ended, recordCalls, TemporaryDirectory } from "../records.ts";

const everything = { limit: 500, isVisible: () => true };

function namesOf(calls: readonly HistoryCall[]): readonly unknown[] {
  return calls.map(({ begin, end }) => `${begin["tool_call_id"]}${end === undefined ? "" : " ended"}`);
}

/** Reads all pages. */
async function allCalls(history: JournalHistory, limit: number): Promise<HistoryCall[]> {
  const calls: HistoryCall[] = [];
  for (let before: number | undefined; ; ) {
    const page = await history.calls({ ...everything, limit, before });
    calls.push(...page.calls);
    if (page.next === undefined) return calls;
    expect(page.next).toBeLessThan(before ?? Number.POSITIVE_INFINITY);
    before = page.next;
  }
}

test("calls are listed with their ends, the latest first, over the files of a journal and all its pages", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path, maxBytes: 4_096 });
  const history = new JournalHistory(journal, directory.path);
  await journal.begin(dispatched("long"));
  for (let round = 0; round < 10; round++) {
    await recordCalls(journal, 5, `round-${round}`);
    journal.deny(denied(`denied-${round}`));
    await journal.flush();
  }
  journal.end(ended("long"));
  await journal.begin(dispatched("running"));
  const expected = ["long ended"];
  for (let round = 0; round < 10; round++) {
    for (let call = 0; call < 5; call++) expected.push(`round-${round}-${call} ended`);
    expected.push(`denied-${round}`);
  }
  expected.push("running");
  expected.reverse();
  expect(readdirSync(directory.path).filter((name) => name.endsWith(".jsonl")).length).toBeGreaterThan(3);
  for (const limit of [1, 2, 7, 500]) expect(namesOf(await allCalls(history, limit))).toEqual(expected);
});

test("calls with the same names have their own ends", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  for (const code of ["timeout", "cancelled", "execution_error"] as const) {
    await journal.begin(dispatched("same"));
    journal.end(ended("same", { success: false, code, effect: "none" }));
    await journal.flush();
  }
  for (const limit of [1, 2, 3]) {
    const calls = await allCalls(history, limit);
    expect(calls.map(({ end }) => end?.["code"])).toEqual(["execution_error", "cancelled", "timeout"]);
  }
  for (const { begin, end } of await allCalls(history, 3)) {
    expect(await history.call(begin.seq)).toEqual({ begin, end });
  }
  expect(await history.call(1)).toBeUndefined();
  expect(await history.call(1_000)).toBeUndefined();
});

test("calls are selected by tool, session, code and principal", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  const ann = { id: "ann", kind: "user" } as const;
  await journal.begin(dispatched("a", {}, { principal: ann }));
  journal.end(ended("a", { principal: ann, success: false, code: "timeout", effect: "unknown" }));
  await journal.begin(dispatched("b", {}, { toolName: "other", sessionId: "session-2" }));
  journal.deny(denied("c"));
  const select = async (query: object): Promise<readonly unknown[]> =>
    namesOf((await history.calls({ ...everything, ...query })).calls);
  expect(await select({ tool: "other" })).toEqual(["b"]);
  expect(await select({ session: "session-1" })).toEqual(["c", "a ended"]);
  expect(await select({ code: "timeout" })).toEqual(["a ended"]);
  expect(await select({ code: "permission_denied" })).toEqual(["c"]);
  expect(await select({ isVisible: (id: string | undefined) => id === "ann" })).toEqual(["a ended"]);
  await expect(
    history.calls({ ...everything, signal: AbortSignal.abort(new Error("gone")) }),
  ).rejects.toThrow("gone");
});

test("a journal can be listed while it is written", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path, maxBytes: 20_000 });
  const history = new JournalHistory(journal, directory.path);
  const writing = write(journal);
  let listed = 0;
  for (let pages = 0; pages < 10; pages++) {
    const calls = await allCalls(history, 50);
    expect(new Set(calls.map(({ begin }) => begin.seq)).size).toBe(calls.length);
    expect(calls.length).toBeGreaterThanOrEqual(listed);
    listed = calls.length;
  }
  await writing;
  expect((await allCalls(history, 50)).length).toBe(150);
});

async function write(journal: Journal): Promise<void> {
  for (let round = 0; round < 15; round++) await recordCalls(journal, 10, `r${round}`);
}

test("pages of a damaged journal end, and show what can be read", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(20_000), fc.constantFrom("\n", '"', "0", "{", "\u0000", '"seq":9')), {
        maxLength: 12,
      }),
      fc.option(fc.nat(20_000)),
      fc.integer({ min: 1, max: 9 }),
      async (edits, cut, limit) => {
        using directory = new TemporaryDirectory();
        await using journal = await openJournal({ directory: directory.path, maxBytes: 4_096 });
        await recordCalls(journal, 20);
        await journal.flush();
        const history = new JournalHistory(journal, directory.path);
        const files = readdirSync(directory.path).filter((name) => name.endsWith(".jsonl"));
        for (const name of files) {
          const path = join(directory.path, name);
          const text = readFileSync(path, "utf8");
          let damaged = text;
          for (const [at, put] of edits) {
            const place = at % (damaged.length + 1);
            damaged = damaged.slice(0, place) + put + damaged.slice(place + 1);
          }
          writeFileSync(path, damaged);
          if (cut !== null) truncateSync(path, cut % (damaged.length + 1));
        }
        const calls = await allCalls(history, limit);
        expect(calls.length).toBeLessThanOrEqual(20);
        for (const { begin } of calls) await history.call(begin.seq);
        await history.summary();
      },
    ),
    { numRuns: 20 },
  );
});

test("the lines of a file are the same backwards, whatever their lengths and its end", async () => {
  const length = fc.oneof(fc.nat(100), fc.nat(600_000));
  await fc.assert(
    fc.asyncProperty(fc.array(length, { maxLength: 8 }), fc.nat(300_000), async (lengths, torn) => {
      using directory = new TemporaryDirectory();
      const path = join(directory.path, "file");
      writeFileSync(path, "");
      for (const each of lengths) appendFileSync(path, `${"x".repeat(each)}\n`);
      appendFileSync(path, "t".repeat(torn));
      const forwards: string[] = [];
      for await (const lines of new LineReader(path).batches()) {
        for (const { bytes, start } of lines) forwards.push(`${start} ${bytes}`);
      }
      const backwards: string[] = [];
      for await (const lines of backwardLines(path)) {
        for (const { bytes, start } of lines) backwards.push(`${start} ${bytes}`);
      }
      expect(backwards.length).toBe(forwards.length);
      expect(backwards.reverse().every((line, index) => line === forwards[index])).toBe(true);
    }),
    { numRuns: 25 },
  );
});

test("a call whose end is too far behind its page is not said to be running", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  await journal.begin(dispatched("long"));
  await journal.begin(dispatched("running"));
  await recordCalls(journal, 1, "short");
  await journal.flush();
  for (let call = 0; call < 60; call++) {
    await journal.begin(dispatched(`large-${call}`, { content: "x".repeat(100_000) }));
    journal.end(ended(`large-${call}`));
  }
  journal.end(ended("long"));
  await journal.flush();
  const calls = await allCalls(history, 30);
  const oldest = calls
    .slice(-3)
    .map(({ begin, end, isEndUnknown }) => [begin["tool_call_id"], end !== undefined, isEndUnknown]);
  expect(oldest).toEqual([
    ["short-0", true, undefined],
    ["running", false, true],
    ["long", false, true],
  ]);
  const { calls: all } = await history.calls({ ...everything, limit: 500 });
  expect(all.at(-1)).toMatchObject({ begin: { tool_call_id: "long" }, end: { tool_call_id: "long" } });
  expect(all.at(-2)).not.toHaveProperty("isEndUnknown");
  expect(await history.call(all.at(-1)?.begin.seq ?? 0)).toHaveProperty("end");
});
