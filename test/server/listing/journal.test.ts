import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createJournalKeys } from "../../../src/journal/checkpoints/signed-note.ts";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import type { JournalOptions } from "../../../src/journal/options.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import type { Server } from "../../../src/server/server.ts";
import { denied, dispatched, ended, recordCalls, TemporaryDirectory } from "../../journal/records.ts";
import { type ClientName, refusalOf, startServer, TestClient } from "../harness.ts";

interface CallPage {
  readonly calls: readonly { readonly seq: number; readonly [member: string]: unknown }[];
  readonly next?: number;
}

const PATH = "/v1/journal/calls";
const VERIFICATION = "/v1/journal/verification";
const alice = { id: "alice", kind: "agent" } as const;
const bob = { id: "bob", kind: "agent" } as const;

async function recorded(
  record: (journal: Journal) => Promise<void>,
  options: Partial<JournalOptions> = {},
): Promise<{ server: Server; path: string; client: (name: ClientName) => TestClient }> {
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory[Symbol.dispose]());
  const journal = await openJournal({ directory: directory.path, ...options });
  onTestFinished(() => journal.close());
  await record(journal);
  await journal.flush();
  const { path } = directory;
  const server = await startServer([], {
    journal,
    history: new JournalHistory(journal, path),
    redaction: new Redaction(),
  });
  return { server, path, client: (name) => new TestClient(server, name) };
}

async function twoCalls(journal: Journal): Promise<void> {
  await journal.begin(dispatched("a", { path: "a.txt" }, { principal: alice }));
  journal.end(ended("a", { principal: alice, success: false, code: "timeout", effect: "unknown" }));
  journal.deny(denied("b", { principal: bob }));
}

test("readers and admins read the calls of all principals, and approvers those of their own", async () => {
  const { client } = await recorded(twoCalls);
  const all = await client("erin").json<CallPage>("GET", PATH);
  expect(all.calls).toMatchObject([
    { seq: 4, callId: "b", state: "denied", code: "permission_denied", principal: { id: "bob" } },
    {
      seq: 2,
      callId: "a",
      toolName: "write_file",
      sessionId: "session-1",
      principal: { id: "alice" },
      state: "ended",
      decision: "allow",
      sideEffects: "write",
      code: "timeout",
      effect: "unknown",
      at: expect.any(Number),
      durationMs: expect.any(Number),
      argumentDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ]);
  expect(await client("frank").json("GET", PATH)).toEqual(all);
  expect(await client("carol").json("GET", PATH)).toMatchObject({ calls: [{ callId: "a" }] });
  expect(await client("mallory").json("GET", PATH)).toEqual({ calls: [] });
  expect(await client("carol").json("GET", `${PATH}/2`)).toMatchObject({ state: "ended" });
  expect(refusalOf(await client("carol").send("GET", `${PATH}/4`))).toBe("404 not_found");
  for (const path of ["/v1/journal", PATH, `${PATH}/2`]) {
    expect(refusalOf(await client("alice").send("GET", path))).toBe("403 forbidden");
  }
});

test("a call is shown with both records, and texts without secrets and disguises", async () => {
  const secret = "AKIAIOSFODNN7EXAMPLE";
  const { client } = await recorded(async (journal) => {
    const more = { toolName: "to\u202eol", principal: alice };
    await journal.begin(dispatched("a\u001b", { text: "\u202e", key: secret, token: "hunter2" }, more));
    journal.end(ended("a\u001b", more));
    journal.deny(denied("b", { reason: `because of ${secret} \u202e` }));
  });
  const { text } = await client("erin").send("GET", `${PATH}/2`);
  expect(JSON.parse(text)).toMatchObject({
    state: "ended",
    begin: { seq: 2, tool: "to\\u202eol", tool_call_id: "a\\u001b" },
    end: { seq: 3, type: "tool.call.ended" },
  });
  const all = text + (await client("erin").send("GET", `${PATH}/4`)).text;
  expect(all).toContain("because of [redacted: aws-key] \\\\u202e");
  for (const hidden of [secret, "hunter2", "\u202e", "\u001b"]) expect(all).not.toContain(hidden);
});

test("only admins read sealed arguments, without their secrets, until their session is forgotten", async () => {
  let own: Journal | undefined;
  const { client } = await recorded(
    async (journal) => {
      own = journal;
      await journal.begin(dispatched("a", { path: "plan.txt", token: "hunter2" }));
    },
    { arguments: "sealed" },
  );
  const shown = async (name: ClientName): Promise<string> =>
    (await client(name).json<{ arguments: string }>("GET", `${PATH}/2`)).arguments;
  for (const name of ["erin", "dave"] as const) expect(await shown(name)).toBe('"[redacted: sealed]"');
  const opened = JSON.parse(await shown("frank")) as object;
  expect(opened).toEqual({ path: "plan.txt", token: "[redacted: token]" });
  expect(await own?.forget("session-1")).toBe(true);
  expect(await shown("frank")).toBe('"[redacted: sealed]"');
});

test("a summary says nothing of where the journal is", async () => {
  const { client, path } = await recorded(twoCalls);
  const { text } = await client("carol").send("GET", "/v1/journal");
  expect(JSON.parse(text)).toEqual({
    health: "healthy",
    lost: 0,
    entries: 4,
    checkpoints: "none",
    size: expect.any(Number),
    lastAt: expect.any(Number),
  });
  expect(text).not.toContain(path);
});

test.each([
  "before=0",
  "before=x",
  "limit=0",
  "limit=501",
  `tool=${"x".repeat(2_049)}`,
])("a page with %.20s is refused", async (query) => {
  const { client } = await recorded(twoCalls);
  expect(refusalOf(await client("erin").send("GET", `${PATH}?${query}`))).toBe("400 bad_request");
});

test.each(["0", "-1", "1", "1e3", "x", "9007199254740993", "99"])("there is no call %s", async (seq) => {
  const { client } = await recorded(twoCalls);
  expect(refusalOf(await client("erin").send("GET", `${PATH}/${seq}`))).toBe("404 not_found");
});

test("a forged record is shown as far as it can be", async () => {
  const { client, path } = await recorded(async () => {});
  const [name = ""] = readdirSync(path).filter((each) => each.endsWith(".jsonl"));
  const record = { at: 1, prev: "", seq: 7, type: "tool.call.denied" };
  const forged = JSON.stringify({ ...record, tool: 5, session: {}, principal: [], code: "x".repeat(10_000) });
  const deep = JSON.stringify({ ...record, seq: 8 }).replace(
    "}",
    `,"args":${"[".repeat(50_000)}1${"]".repeat(50_000)}}`,
  );
  writeFileSync(join(path, name), `no record\n${forged}\n${deep}\n`);
  const { calls } = await client("erin").json<CallPage>("GET", PATH);
  expect(calls).toMatchObject([
    { seq: 8 },
    { seq: 7, callId: "", toolName: "", sessionId: "", state: "denied" },
  ]);
  expect(String(calls[1]?.["code"]).length).toBeLessThan(400);
  expect((await client("erin").send("GET", `${PATH}/7`)).status).toBe(200);
  expect(await client("erin").json("GET", `${PATH}/8`)).toMatchObject({ arguments: "[left out]" });
});

test("without a journal there is nothing to read", async () => {
  const server = await startServer([]);
  const erin = new TestClient(server, "erin");
  for (const path of ["/v1/journal", PATH, `${PATH}/2`]) {
    expect(refusalOf(await erin.send("GET", path))).toBe("404 not_found");
  }
});

test("a journal that cannot be read is 503, and its path is not shown", async () => {
  const { client, path } = await recorded(twoCalls);
  const [name = ""] = readdirSync(path).filter((each) => each.endsWith(".jsonl"));
  // A line that is longer than any record.
  writeFileSync(join(path, name), `${"x".repeat(34_000_000)}\n`);
  const answer = await client("erin").send("GET", PATH);
  expect(refusalOf(answer)).toBe("503 unavailable");
  expect(answer.text).not.toContain(path);
});

test("readers and admins have the journal verified, with its checkpoints", async () => {
  const { signer: key } = createJournalKeys("journal");
  const { client } = await recorded(twoCalls, { key });
  for (const name of ["erin", "frank"] as const) {
    expect(await client(name).json("POST", VERIFICATION)).toMatchObject({
      isIntact: true,
      first: 1,
      last: 4,
      checkpoints: { matching: expect.any(Number), uncovered: expect.any(Number) },
    });
  }
  for (const name of ["alice", "carol"] as const) {
    expect(refusalOf(await client(name).send("POST", VERIFICATION))).toBe("403 forbidden");
  }
});

test("a changed journal is found, and its path is not shown", async () => {
  const { client, path } = await recorded(twoCalls);
  const [name = ""] = readdirSync(path).filter((each) => each.endsWith(".jsonl"));
  const file = join(path, name);
  writeFileSync(file, readFileSync(file, "utf8").replace("a.txt", "b.txt"));
  const { text } = await client("erin").send("POST", VERIFICATION);
  expect(JSON.parse(text)).toMatchObject({
    isIntact: false,
    contradiction: { kind: "changed", seq: 2, file: name },
  });
  expect(text).not.toContain(path);
});

test("one verification runs at a time", async () => {
  const { client } = await recorded(async (journal) => recordCalls(journal, 200));
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => client("erin").send("POST", VERIFICATION)),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses[0]).toBe(200);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect((await client("frank").send("POST", VERIFICATION)).status).toBe(200);
});

test("a verification ends when its signal is aborted", async () => {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  await recordCalls(journal, 10);
  const ending = new AbortController();
  const verifying = new JournalHistory(journal, directory.path).verify(ending.signal);
  ending.abort(new Error("gone"));
  await expect(verifying).rejects.toThrow("gone");
});
