import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import type { JournalEntry } from "../../src/journal/line/entry.ts";
import { readJournal } from "../../src/journal/read/read-journal.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import { openSetting, program } from "../programs/suspension/setting.ts";
import { answerTo, call, tool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-restart-records-"));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;

/** One process with sessions, suspended programs and a journal. */
interface Life {
  readonly sessions: Sessions;
  readonly journal: Journal;
  readonly events: readonly DispatchEvent[];
  close(): Promise<void>;
}

function newLives(tools: readonly Tool[]): {
  readonly directory: string;
  readonly start: () => Promise<Life>;
} {
  const place = mkdtempSync(join(folder, `${folders++}-`));
  const directory = join(place, "records");
  const start = async (): Promise<Life> => {
    const journal = await openJournal({ directory });
    const stream = new EventStream();
    const events: DispatchEvent[] = [];
    stream.on((event) => events.push(event));
    const { options } = await openSetting(place, tools, { afterMs: 1 });
    const sessions = await openSessions({ ...options, journal, events: stream });
    const close = async (): Promise<void> => {
      await sessions.close();
      await journal.close();
    };
    onTestFinished(close);
    return { sessions, journal, events, close };
  };
  return { directory, start };
}

async function confirmation({ sessions }: Life): Promise<Confirmation> {
  await expect.poll(() => sessions.openConfirmations().length, { timeout: 10_000 }).toBe(1);
  return sessions.openConfirmations()[0] as Confirmation;
}

async function recordsOf(directory: string): Promise<JournalEntry[]> {
  const all: JournalEntry[] = [];
  for await (const { entries } of readJournal(directory)) all.push(...entries);
  return all.filter(({ type }) => type.startsWith("tool.call."));
}

const namesOf = (records: readonly JournalEntry[]): string[] =>
  records.map(({ type, tool_call_id: id, code, suspended }) =>
    [String(id), type.slice("tool.call.".length), code, suspended && "suspended"].filter(Boolean).join(" "),
  );

test("A call that waits for an answer while the process ends is not recorded as denied", async () => {
  const { directory, start } = newLives([tool("pay", "network")]);
  const before = await start();
  const session = await before.sessions.open({ id: "s1" });
  const first = session.turn({ id: "t1" }).dispatchAll([call("c1", "pay")]);
  await confirmation(before);
  await before.close();
  // The caller in this process reads that its own call ended.
  expect(await first).toMatchObject([{ error: { code: "cancelled", effect: "none" } }]);
  expect(await recordsOf(directory)).toEqual([]);
  expect(before.events.map(({ type }) => type)).not.toContain("tool.failed");

  const after = await start();
  await after.sessions
    .get("s1")
    ?.answer((await confirmation(after)).id, answerTo(await confirmation(after), "allow"));
  await expect
    .poll(() => after.events.map(({ type }) => type), { timeout: 10_000 })
    .toContain("tool.completed");
  await after.close();
  expect(namesOf(await recordsOf(directory))).toEqual(["c1 dispatched", "c1 ended"]);
  expect(await verifyJournal({ directory })).not.toHaveProperty("contradiction");
});

test("A call that is cancelled while the process goes on is recorded as denied", async () => {
  const { directory, start } = newLives([tool("pay", "network")]);
  const life = await start();
  const session = await life.sessions.open({ id: "s1" });
  const turn = session.turn({ id: "t1" });
  const result = turn.dispatchAll([call("c1", "pay")]);
  await confirmation(life);
  await turn.cancel();
  expect(await result).toMatchObject([{ error: { code: "cancelled" } }]);
  await life.close();
  expect(namesOf(await recordsOf(directory))).toEqual(["c1 denied cancelled"]);
  expect(life.events.map(({ type }) => type)).toContain("tool.failed");
});

test("A call that runs while the process ends is recorded with its end, as it is not run again", async () => {
  const begun = Promise.withResolvers<void>();
  const { directory, start } = newLives([
    tool("read", "read", async (_input, { signal }) => {
      begun.resolve();
      await new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("stopped"))),
      );
    }),
  ]);
  const life = await start();
  const session = await life.sessions.open({ id: "s1" });
  const result = session.turn({ id: "t1" }).dispatchAll([call("c1", "read")]);
  await begun.promise;
  await life.close();
  await result;
  expect(namesOf(await recordsOf(directory))).toEqual(["c1 dispatched", "c1 ended cancelled"]);
});

test("A program that is suspended while the process ends is recorded so, and its call as not denied", async () => {
  const { directory, start } = newLives([
    program('export default (input, { tools }) => tools.call("pay", {})'),
    tool("pay", "network", () => "paid"),
  ]);
  const before = await start();
  const session = await before.sessions.open({ id: "s1" });
  const first = session.turn({ id: "t1" }).dispatchAll([call("c1", "program")]);
  await confirmation(before);
  await expect.poll(() => before.sessions.suspendedCalls(), { timeout: 10_000 }).toHaveLength(1);
  await before.close();
  await first;
  expect(namesOf(await recordsOf(directory))).toEqual(["c1 dispatched", "c1 ended cancelled suspended"]);
  const after = await start();
  await after.sessions
    .get("s1")
    ?.answer((await confirmation(after)).id, answerTo(await confirmation(after), "allow"));
  const isOver = (): boolean =>
    after.events.some(({ type, callId }) => type === "tool.completed" && callId === "c1");
  await expect.poll(isOver, { timeout: 10_000 }).toBe(true);
  await after.close();
  const [, , again, ...others] = namesOf(await recordsOf(directory));
  expect([again, others.length, others.at(-1)]).toEqual(["c1 dispatched", 3, "c1 ended"]);
  expect(others.slice(0, 2).map((name) => name.split(" ")[1])).toEqual(["dispatched", "ended"]);
});

test("The record of a denial has who denied it, and why", async () => {
  const { directory, start } = newLives([tool("pay", "network")]);
  const life = await start();
  const session = await life.sessions.open({ id: "s1" });
  const results = session.turn({ id: "t1" }).dispatchAll([call("c1", "pay")]);
  const asked = await confirmation(life);
  const reason = `Not "today".\n${"x".repeat(980)}`;
  await session.answer(asked.id, { ...answerTo(asked, "deny"), reason });
  expect(await results).toMatchObject([
    { error: { message: `User denied this operation. Their reason: ${JSON.stringify(reason)}` } },
  ]);
  await life.close();
  const records = await recordsOf(directory);
  expect(records.at(-1)).toMatchObject({ code: "user_denied" });
  expect(records.at(-1)?.["reason"]).toMatch(/^denied by \w+: "Not \\"today\\".\\nx{980}"$/);
});
