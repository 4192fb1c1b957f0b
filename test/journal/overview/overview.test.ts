import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import type { HistoryQuery } from "../../../src/journal/history/list-calls.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import {
  type JournalOverview,
  OVERVIEW_RANGES,
  type OverviewRange,
} from "../../../src/journal/overview/overview.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import { allow } from "../../../src/policy/policy.ts";
import { denied, dispatched, ended, recordCalls, TemporaryDirectory } from "../records.ts";

const alice = { id: "alice", kind: "agent" } as const;

function overviewIn(history: JournalHistory, range: OverviewRange = "hour"): Promise<JournalOverview> {
  return history.overview({ range, now: Date.now(), isVisible: () => true });
}

/** Records calls of every kind: eight, of two sessions. */
async function recordKinds(journal: Journal): Promise<void> {
  await recordCalls(journal, 2);
  const { grant } = allow({ sandbox: "quickjs" });
  const slow = { toolName: "slow", sessionId: "session-2" };
  await journal.begin(dispatched("slow", {}, { ...slow, grant }));
  const receipt = { enforced: {}, used: { wallTimeMs: 2_000 } };
  journal.end(ended("slow", { ...slow, success: false, code: "timeout", effect: "unknown", receipt }));
  await journal.begin(dispatched("large"));
  journal.end(
    ended("large", { success: false, code: "limit_exceeded", effect: "none", limit: "outputBytes" }),
  );
  const allowed = { by: "carol", decision: "allow" } as const;
  await journal.begin(dispatched("read", {}, { answer: { ...allowed, afterMs: 30_000 } }));
  journal.end(ended("read"));
  await journal.begin(dispatched("unread", {}, { answer: { ...allowed, afterMs: 300 } }));
  journal.end(ended("unread", { success: false, code: "cancelled", effect: "none" }));
  journal.deny(denied("denied", { principal: alice }));
  const answer = { by: "carol", decision: "deny", afterMs: 4_000 } as const;
  journal.deny(denied("refused", { code: "user_denied", rules: [], answer }));
  journal.deny(denied("wrong", { code: "validation_error", rules: [] }));
}

test("calls are counted by time, tool, rule, sandbox, person and limit", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  await recordKinds(journal);
  const { steps, total, ...found } = await overviewIn(history);
  expect(total).toEqual({ calls: 9, denied: 2, failed: 3, asked: 3, sessions: 2 });
  expect(steps).toHaveLength(60);
  expect(steps.reduce((sum, { calls }) => sum + calls, 0)).toBe(9);
  expect(found).toMatchObject({
    isComplete: true,
    tools: [
      { name: "write_file", calls: 8, denied: 2, failed: 2 },
      { name: "slow", calls: 1, denied: 0, failed: 1 },
    ],
    rules: [{ name: "no-writes", denied: 1 }],
    limits: [
      { name: "wallTimeMs", calls: 1 },
      { name: "outputBytes", calls: 1 },
    ],
    approvers: [{ name: "carol", allowed: 2, denied: 1, quick: 1 }],
    sandboxes: [
      { name: "host", calls: 5 },
      { name: "quickjs", calls: 1 },
    ],
  });
  const [host, quickjs] = found.sandboxes;
  // To 5 %.
  expect(host?.p95Ms).toBeCloseTo(1.5, 0);
  expect(quickjs?.p50Ms).toBeGreaterThan(1_900);
  expect(quickjs?.p50Ms).toBeLessThan(2_100);
  expect(found.approvers[0]?.p50Ms).toBeGreaterThan(3_800);
});

test.each(OVERVIEW_RANGES)("the last %s has all steps up to now", async (range) => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  await recordCalls(journal, 3);
  const { from, to, stepMs, steps, total } = await overviewIn(
    new JournalHistory(journal, directory.path),
    range,
  );
  expect(from + (steps.length - 1) * stepMs).toBe(to);
  expect(Date.now() - to).toBeLessThan(2 * stepMs);
  expect(total.calls).toBe(3);
  // A call can be recorded just before a step ends.
  expect(steps.slice(-2).reduce((sum, { calls }) => sum + calls, 0)).toBe(3);
});

test("only calls of visible principals are counted", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  await recordKinds(journal);
  const isVisible = (principal: string | undefined): boolean => principal === "alice";
  const own = await history.overview({ range: "hour", now: Date.now(), isVisible });
  expect(own.total).toMatchObject({ calls: 1, denied: 1 });
  expect(own.tools).toEqual([{ name: "write_file", calls: 1, denied: 1, failed: 0 }]);
});

test("the tools with the most calls are listed", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  for (let at = 0; at < 60; at++) journal.deny(denied(`c${at}`, { toolName: `tool-${at % 40}` }));
  const { tools, total } = await overviewIn(history);
  expect(total.calls).toBe(60);
  expect(tools.map(({ calls }) => calls)).toEqual(Array.from({ length: 20 }, () => 2));
});

/** Records more than is counted without a thread, which stores what it counted. */
async function recordMuch(journal: Journal): Promise<void> {
  const canonical = new CanonicalJson({ text: "x".repeat(100_000) });
  for (let at = 0; at < 60; at++) journal.deny(denied(`c${at}`, { canonical }));
  await journal.flush();
}

/** Reads an overview once everything was counted. */
async function completeIn(history: JournalHistory): Promise<JournalOverview> {
  await expect.poll(async () => (await overviewIn(history)).isComplete, { timeout: 60_000 }).toBe(true);
  return overviewIn(history);
}

test("another process goes on with what is stored, over the files of a journal", async () => {
  using directory = new TemporaryDirectory();
  const options = { directory: directory.path, maxBytes: 1_048_576 };
  const file = join(directory.path, "overview.json");
  {
    await using journal = await openJournal(options);
    await recordMuch(journal);
    expect((await completeIn(new JournalHistory(journal, directory.path))).total.calls).toBe(60);
  }
  // What is stored is used: the journal is not read again.
  writeFileSync(file, readFileSync(file, "utf8").replaceAll('"call",60', '"call",1000'));
  await using journal = await openJournal(options);
  await recordCalls(journal, 5, "later");
  const history = new JournalHistory(journal, directory.path);
  expect((await overviewIn(history)).total).toMatchObject({ calls: 1_005, sessions: 1 });
});

test.each([
  ["cut", (text: string) => text.slice(0, 100)],
  ["of a newer format", (text: string) => text.replace('"format":1', '"format":2')],
  ["without a part", (text: string) => text.replace('"sessions":', '"others":')],
  ["of another journal", (text: string) => text.replace(/"prev":"\w{8}/, '"prev":"00000000')],
])("a stored index that is %s is made anew", async (_, change) => {
  using directory = new TemporaryDirectory();
  const file = join(directory.path, "overview.json");
  await using journal = await openJournal({ directory: directory.path });
  await recordMuch(journal);
  await completeIn(new JournalHistory(journal, directory.path));
  const stored = readFileSync(file, "utf8").replaceAll('"call",60', '"call",1000');
  writeFileSync(file, change(stored));
  expect((await completeIn(new JournalHistory(journal, directory.path))).total.calls).toBe(60);
});

test("filters find what is counted, also as names are shown", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  const history = new JournalHistory(journal, directory.path);
  await recordKinds(journal);
  const names = async (query: Partial<HistoryQuery>): Promise<readonly unknown[]> => {
    const { calls } = await history.calls({ limit: 100, isVisible: () => true, ...query });
    return calls.map(({ begin }) => begin["tool_call_id"]);
  };
  expect(await names({ outcome: "denied" })).toEqual(["refused", "denied"]);
  expect(await names({ outcome: "failed" })).toEqual(["wrong", "large", "slow"]);
  expect(await names({ outcome: "aborted" })).toEqual(["unread"]);
  expect(await names({ outcome: "completed" })).toEqual(["read", "call-1", "call-0"]);
  expect(await names({ outcome: "denied", rule: "no-writes" })).toEqual(["denied"]);
  expect(await names({ sandbox: "quickjs" })).toEqual(["slow"]);
  expect(await names({ reached: "wallTimeMs" })).toEqual(["slow"]);
  expect(await names({ answeredBy: "carol" })).toEqual(["refused", "unread", "read"]);
  expect(await names({ answeredBy: "carol", answer: "allow" })).toEqual(["unread", "read"]);
  expect(await names({ answer: "quick" })).toEqual(["unread"]);
  expect(await names({ answer: "deny" })).toEqual(["refused"]);
  expect(await names({ answer: "any" })).toEqual(["refused", "unread", "read"]);
  expect(await names({ outcome: "denied", isRuled: false })).toEqual(["refused"]);
  expect(await names({ answeredBy: "CAROL", shown: (name) => name.toUpperCase() })).toHaveLength(3);
});

test("calls of a range of time are found in large files and over several", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path, maxBytes: 2_000_000 });
  const history = new JournalHistory(journal, directory.path);
  await recordMuch(journal);
  const { calls } = await history.calls({ limit: 500, isVisible: () => true });
  for (const { begin } of [calls[0], calls[30], calls[59]].filter((call) => call !== undefined)) {
    const since = begin.at;
    const [own, before] = [
      calls.filter((call) => call.begin.at === since),
      calls.filter((call) => call.begin.at < since),
    ];
    const everything = { limit: 500, isVisible: () => true };
    expect((await history.calls({ ...everything, since, until: since + 1 })).calls).toEqual(own);
    expect((await history.calls({ ...everything, until: since })).calls).toEqual(before);
  }
  expect(
    (await history.calls({ limit: 500, isVisible: () => true, since: Date.now() + 60_000 })).calls,
  ).toEqual([]);
});
