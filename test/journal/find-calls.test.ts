import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import type { SessionCall } from "../../src/engine/call/journal.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { readJournal } from "../../src/journal/read/read-journal.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { canonicalText } from "../../src/json/canonical.ts";
import { denied, dispatched, ended, recordCalls, TemporaryDirectory } from "./records.ts";

const PLACE = { sessionId: "session-1", turnId: "t1", messageId: "m1", toolName: "write_file" };

function wanted(callId: string, more: Partial<SessionCall> = {}): SessionCall {
  return { ...PLACE, callId, ...more };
}

test("A journal finds what it recorded of calls of sessions, across files", async () => {
  using directory = new TemporaryDirectory();
  const since = Date.now();
  const options = { directory: directory.path, maxBytes: 2_000 };
  await using journal = await openJournal(options);
  const begin = (callId: string, more: object = {}): Promise<void> | undefined =>
    journal.begin(dispatched(callId, {}, { ...PLACE, ...more }));
  await begin("done");
  journal.end(ended("done", PLACE));
  await recordCalls(journal, 10);
  await begin("failed", { sideEffects: "network" });
  journal.end(ended("failed", { ...PLACE, success: false, code: "timeout", effect: "unknown" }));
  await begin("open", { messageId: "m2" });
  await recordCalls(journal, 10);
  await begin("of-ann", { principal: { id: "ann", kind: "user" } });
  await begin("nested", { parent: "done" });
  journal.deny(denied("denied", { ...PLACE, near: [{ rule: "r", missed: "tools" }] }));
  expect(readdirSync(directory.path).filter((name) => name.endsWith(".jsonl")).length).toBeGreaterThan(5);
  const found = await journal.findCalls(
    [
      wanted("open", { messageId: "m2" }),
      wanted("failed"),
      wanted("done"),
      wanted("of-ann", { principal: "ann" }),
      // No record of these calls:
      wanted("open"),
      wanted("done", { toolName: "other" }),
      wanted("nested"),
      wanted("denied"),
      wanted("call-1"),
    ],
    since,
  );
  expect(found).toEqual([
    { sideEffects: "write" },
    { sideEffects: "network", end: { success: false, code: "timeout", effect: "unknown" } },
    { sideEffects: "write", end: { success: true } },
    { sideEffects: "write" },
    ...new Array(5).fill(undefined),
  ]);
  expect(await journal.findCalls([wanted("of-ann")], since)).toEqual([undefined]);
  await journal.close();

  // The next process writes the ends of interrupted calls, which it does not know.
  await using reopened = await openJournal(options);
  expect(await reopened.findCalls([wanted("open", { messageId: "m2" })], since)).toEqual([
    { sideEffects: "write" },
  ]);
  expect(await verifyJournal({ directory: directory.path })).not.toHaveProperty("contradiction");
  for await (const { entries } of readJournal(directory.path)) {
    for (const entry of entries) expect(JSON.stringify(entry)).toBe(canonicalText(entry));
  }
});

test("Calls of two messages with the same id have ends of their own", async () => {
  using directory = new TemporaryDirectory();
  const journal = await openJournal({ directory: directory.path });
  for (const messageId of ["m1", "m2"]) await journal.begin(dispatched("c1", {}, { ...PLACE, messageId }));
  journal.end(ended("c1", { ...PLACE, messageId: "m2" }));
  await journal.close();
  await using reopened = await openJournal({ directory: directory.path });
  expect(await reopened.findCalls([wanted("c1"), wanted("c1", { messageId: "m2" })], 0)).toEqual([
    { sideEffects: "write" },
    { sideEffects: "write", end: { success: true } },
  ]);
});
