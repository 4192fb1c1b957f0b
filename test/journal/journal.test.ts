import { appendFileSync, existsSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadCrypto } from "../../src/base/load-crypto.ts";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { JournalError } from "../../src/journal/journal-error.ts";
import type { JournalNotice } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { canonicalText } from "../../src/json/canonical.ts";
import { denied, dispatched, ended, recordCalls, TemporaryDirectory } from "./records.ts";

const FIRST = "journal-0000000000000001.jsonl";

function linesOf(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1));
}

test("each line is canonical JSON with its number and the digest of the line before", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    await recordCalls(journal, 3);
    journal.deny(denied("denied", { near: [{ rule: "files", missed: "/path is not matched by glob" }] }));
  }
  const lines = linesOf(directory.path);
  expect(lines.length).toBe(8);
  let prev = "0".repeat(64);
  let at = 0;
  for (const [index, line] of lines.entries()) {
    const entry = JSON.parse(line);
    expect(line).toBe(canonicalText(entry));
    expect(entry).toMatchObject({ seq: index + 1, prev });
    expect(entry.at).toBeGreaterThanOrEqual(at);
    prev = loadCrypto().hash("sha256", line);
    at = entry.at;
  }
});

test("a record has everything that led to the call", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    const principal = { id: "ann", kind: "user", attributes: { prev: "x", seq: 3 } } as const;
    const confirmation = { by: { id: "bob", kind: "user" }, at: 1, shown: "f".repeat(64) } as never;
    await journal.begin(
      dispatched(
        "c",
        { b: [1], a: "ü\u0000" },
        {
          principal,
          confirmation,
          parent: "p",
          turnId: "t",
          policyRevision: "r",
          decision: "ask",
          answer: { by: "bob", decision: "allow", afterMs: 1_500 },
        },
      ),
    );
    const questions = [{ by: "eve", decision: "deny", digest: "e".repeat(64) }] as const;
    const failed = {
      success: false,
      code: "limit_exceeded",
      effect: "unknown",
      limit: "outputBytes",
    } as const;
    journal.end(ended("c", { ...failed, turnId: "t", principal, questions }));
  }
  const [, begun = "", end = ""] = linesOf(directory.path);
  expect(begun).toBe(canonicalText(JSON.parse(begun)));
  expect(JSON.parse(begun)).toMatchObject({
    type: "tool.call.dispatched",
    tool: "write_file",
    tool_call_id: "c",
    session: "session-1",
    turn: "t",
    args: { a: "ü\u0000", b: [1] },
    argumentDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    principal: { id: "ann" },
    policyRevision: "r",
    definitionDigest: "d".repeat(64),
    rules: ["files"],
    decision: "ask",
    confirmation: { by: { id: "bob" } },
    parent: "p",
    sideEffects: "write",
    grant: { sandbox: "host", limits: { wallTimeMs: 1_000 }, capabilities: {} },
    answer: { by: "bob", decision: "allow", afterMs: 1_500 },
  });
  expect(end).toBe(canonicalText(JSON.parse(end)));
  expect(JSON.parse(end)).toMatchObject({
    type: "tool.call.ended",
    code: "limit_exceeded",
    effect: "unknown",
  });
  expect(JSON.parse(end)).toMatchObject({ limit: "outputBytes" });
  expect(JSON.parse(end)).toMatchObject({ questions: [{ by: "eve", decision: "deny" }] });
});

test("secrets in arguments are hidden, and their digest is that of the arguments", async () => {
  using directory = new TemporaryDirectory();
  const record = dispatched("c", { password: "hunter2" });
  {
    await using journal = await openJournal({ directory: directory.path });
    await journal.begin(record);
  }
  const text = linesOf(directory.path).join("");
  expect(text).not.toContain("hunter2");
  expect(text).toContain(record.canonical.digest);
});

test("a second journal in the same directory is refused until the first one is closed", async () => {
  using directory = new TemporaryDirectory();
  const first = await openJournal({ directory: directory.path });
  await expect(openJournal({ directory: directory.path })).rejects.toThrow(/is open already/);
  await first.close();
  const second = await openJournal({ directory: directory.path });
  await second.close();
});

test("a closed journal refuses records", async () => {
  using directory = new TemporaryDirectory();
  const journal = await openJournal({ directory: directory.path });
  await journal.close();
  expect(() => journal.begin(dispatched("c"))).toThrow(JournalError);
  expect(() => journal.end(ended("c"))).toThrow(JournalError);
  expect(journal.lost).toBe(1);
});

test("records of calls that run at the same time are all written, in the order in which they came", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    await Promise.all(Array.from({ length: 500 }, (_, index) => journal.begin(dispatched(`c${index}`))));
  }
  const ids = linesOf(directory.path).map((line) => JSON.parse(line).tool_call_id);
  expect(ids.filter(Boolean)).toEqual(Array.from({ length: 500 }, (_, index) => `c${index}`));
});

test("calls without an end get one with an unknown effect at the next open", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path, maxBytes: 2_048 });
    await journal.begin(dispatched("open", 1, { turnId: "t" }));
    // The journal goes on in other files, in which the call does not begin.
    await recordCalls(journal, 20);
  }
  const notices: JournalNotice[] = [];
  for (let open = 0; open < 2; open++) {
    await using _journal = await openJournal({
      directory: directory.path,
      onNotice: (notice) => notices.push(notice),
    });
  }
  expect(notices.map(({ kind }) => kind)).toEqual(["interrupted"]);
  const ends = linesOf(directory.path)
    .map((line) => JSON.parse(line))
    .filter(({ type, tool_call_id: id }) => type === "tool.call.ended" && id === "open");
  expect(ends).toEqual([
    expect.objectContaining({ effect: "unknown", code: "execution_error", interrupted: true, turn: "t" }),
  ]);
  expect(await verifyJournal({ directory: directory.path })).not.toHaveProperty("contradiction");
});

test("a file that continues another one names the calls that have no end, with equal ids and in the last group", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path, maxBytes: 1_024 });
    await journal.begin(dispatched("a"));
    await journal.begin(dispatched("a"));
    await journal.begin(dispatched("a", 1, { sessionId: "session-2" }));
    journal.end(ended("a"));
    journal.end(ended("never begun"));
    await journal.begin(dispatched("b"));
    journal.end(ended("a", { sessionId: "session-2" }));
    await journal.begin(dispatched("c"));
    journal.end(ended("a"));
    await journal.begin(dispatched("d"));
  }
  const lines = linesOf(directory.path).map((line) => JSON.parse(line));
  const open: string[] = [];
  for (const { type, session, tool_call_id: id, open: named } of lines) {
    const call = `${session} ${id}`;
    if (type === "tool.call.dispatched") open.push(call);
    if (type === "tool.call.ended" && open.includes(call)) open.splice(open.indexOf(call), 1);
    if (type !== "journal.rotated") continue;
    const names = named.map((each: Record<string, string>) => `${each["session"]} ${each["tool_call_id"]}`);
    expect(names.sort()).toEqual(open.toSorted());
  }
  expect(lines.filter(({ type }) => type === "journal.rotated").length).toBeGreaterThan(2);
  expect(open).toEqual(["session-1 b", "session-1 c", "session-1 d"]);
});

test("a half-written line is moved to a file of its own, and the chain goes on", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    await recordCalls(journal, 2);
  }
  const path = join(directory.path, FIRST);
  appendFileSync(path, '{"args":{"pa');
  expect(await verifyJournal({ directory: directory.path })).toMatchObject({ last: 5, torn: { bytes: 12 } });
  const notices: JournalNotice[] = [];
  {
    await using journal = await openJournal({
      directory: directory.path,
      onNotice: (notice) => notices.push(notice),
    });
    await recordCalls(journal, 1, "later");
  }
  expect(notices.map(({ kind }) => kind)).toEqual(["torn"]);
  const [torn = ""] = readdirSync(directory.path).filter((name) => name.endsWith(".torn"));
  expect(readFileSync(join(directory.path, torn), "utf8")).toBe('{"args":{"pa');
  const report = await verifyJournal({ directory: directory.path });
  expect(report).toMatchObject({ first: 1, last: 8 });
  expect(report).not.toHaveProperty("contradiction");
});

test("an empty last file, which a crash can leave, is continued", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path, maxBytes: 1_024 });
    await journal.begin(dispatched("open"));
    await recordCalls(journal, 5);
  }
  const last =
    readdirSync(directory.path)
      .filter((name) => name.endsWith(".jsonl"))
      .at(-1) ?? "";
  truncateSync(join(directory.path, last), 0);
  for (let open = 0; open < 2; open++) {
    await using journal = await openJournal({ directory: directory.path });
    await recordCalls(journal, 1, `again-${open}`);
  }
  expect(await verifyJournal({ directory: directory.path })).not.toHaveProperty("contradiction");
  expect(linesOf(directory.path).join("\n")).toContain('"interrupted":true');
});

test("a damaged last file is not continued", async () => {
  using directory = new TemporaryDirectory();
  {
    await using journal = await openJournal({ directory: directory.path });
    await recordCalls(journal, 2);
  }
  appendFileSync(join(directory.path, FIRST), "{}\n");
  await expect(openJournal({ directory: directory.path })).rejects.toThrow(/damaged at record 6/);
});

test("a journal that is shorter than its last checkpoint is not continued", async () => {
  using directory = new TemporaryDirectory();
  const { signer: key } = createJournalKeys("example.com/journal");
  {
    await using journal = await openJournal({ directory: directory.path, key });
    await recordCalls(journal, 2);
  }
  const path = join(directory.path, FIRST);
  const lines = readFileSync(path, "utf8").split("\n");
  truncateSync(path, Buffer.byteLength(lines.slice(0, 3).join("\n")) + 1);
  await expect(openJournal({ directory: directory.path, key })).rejects.toThrow(/checkpoint of 5 records/);
});

test("a clock that is set back does not set the journal's time back", async ({ onTestFinished }) => {
  using directory = new TemporaryDirectory();
  const { now } = Date;
  onTestFinished(() => {
    Date.now = now;
  });
  {
    await using journal = await openJournal({ directory: directory.path });
    await recordCalls(journal, 1);
    Date.now = () => 1_000;
    await recordCalls(journal, 1, "later");
  }
  const times = linesOf(directory.path).map((line) => JSON.parse(line).at);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(await verifyJournal({ directory: directory.path })).not.toHaveProperty("contradiction");
});

test("options that are not valid are refused, and nothing is created", async () => {
  using directory = new TemporaryDirectory();
  const path = join(directory.path, "journal");
  for (const wrong of [
    { sync: "each" },
    { maxBytes: 1 },
    { key: "PRIVATE+KEY+x" },
    { anchors: [{ url: "https://example.com" }] },
    { arguments: "whole" },
    { unknown: 1 },
  ]) {
    await expect(async () => openJournal({ directory: path, ...wrong } as never)).rejects.toThrow(TypeError);
  }
  expect(existsSync(path)).toBe(false);
});
