import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
// Inside: these files are otherwise read only by a command, a login or a shadow, which need more to start.
import { parseTree, treeText } from "../../src/changes/shadow-tree.ts";
import { parseBenchResult } from "../../src/cli/commands/bench/result.ts";
import { FileKeyValue } from "../../src/cli/commands/tool/run.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { readJournal } from "../../src/journal/read/read-journal.ts";
import { SessionKeys } from "../../src/journal/session-keys.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { CredentialFile } from "../../src/mcp/oauth/credential-file.ts";
import { readLock } from "../../src/pins/lock-file.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import { StagedStore } from "../../src/workspace/staged/staged-store.ts";

const NEWER =
  /has format \d+, and this version of sandgate reads formats up to \d+: use the version that wrote it, or a newer one/;
const NEVER = new AbortController().signal;

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-kept-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A record of a journal that is the first one. */
function record(members: object): string {
  return `${JSON.stringify({ at: 1, ...members, prev: "0".repeat(64), seq: 1, type: "journal.opened" })}\n`;
}

test("a journal of a newer format is not opened, read or verified, and stays as it is", async () => {
  const directory = await createFolder();
  await (await openJournal({ directory })).close();
  const [name = ""] = (await readdir(directory)).filter((file) => file.endsWith(".jsonl"));
  const file = join(directory, name);
  expect(JSON.parse((await readFile(file, "utf8")).split("\n")[0] ?? "")).toMatchObject({ format: 1 });
  const text = record({ format: 2 });
  await writeFile(file, text);
  await expect(openJournal({ directory })).rejects.toThrow(NEWER);
  await expect(verifyJournal({ directory })).rejects.toThrow(NEWER);
  await expect(readJournal(directory).next()).rejects.toThrow(NEWER);
  expect(await readFile(file, "utf8")).toBe(text);
});

test("each file of a journal says which format it has", async () => {
  const directory = await createFolder();
  for (let turn = 0; turn < 40; turn++) await (await openJournal({ directory, maxBytes: 4_096 })).close();
  const files = (await readdir(directory)).filter((file) => file.endsWith(".jsonl"));
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const [first = ""] = (await readFile(join(directory, file), "utf8")).split("\n");
    expect(JSON.parse(first)).toMatchObject({ format: 1 });
  }
});

test("a key of sealed arguments that cannot be read is not replaced", async () => {
  const directory = await createFolder();
  const keys = new SessionKeys(directory);
  const key = keys.keyOf("session");
  await keys.save();
  expect(new SessionKeys(directory).keyOf("session")).toEqual(key);
  const name = `${createHash("sha256").update("session").digest("hex")}.key`;
  await writeFile(join(directory, "keys", name), "a newer format of keys");
  expect(() => new SessionKeys(directory).keyOf("session")).toThrow(/use the version that wrote it/);
  expect(await readFile(join(directory, "keys", name), "utf8")).toBe("a newer format of keys");
});

test("a store of sessions of a newer format is not opened", async () => {
  const file = join(await createFolder(), "sessions.db");
  const { DatabaseSync } = await import("node:sqlite");
  await new SqliteSessionStore(file).close();
  const database = new DatabaseSync(file);
  database.exec("PRAGMA user_version = 99");
  database.close();
  expect(() => new SqliteSessionStore(file)).toThrow(NEWER);
});

test("a lock and the credentials of an MCP server of a newer format are not read", async () => {
  const folder = await createFolder();
  await writeFile(join(folder, "sandgate.lock"), '{"lockVersion":2}');
  await expect(readLock(join(folder, "sandgate.lock"))).rejects.toThrow(NEWER);
  const file = new CredentialFile(join(folder, "credentials"), "server", "https://example.org/mcp");
  await file.write({});
  const text = await readFile(file.path, "utf8");
  await writeFile(file.path, text.replace('"version":1', '"version":2'));
  await expect(file.read()).rejects.toThrow(NEWER);
});

test("key-value stores of a newer format are not read, and those without a number are brought to the format", async () => {
  const file = join(await createFolder(), "store.json");
  await writeFile(file, JSON.stringify({ format: 2, stores: {} }));
  await expect(FileKeyValue.open(file)).rejects.toThrow(NEWER);
  // One of the stores has the name of the number.
  await writeFile(file, JSON.stringify({ notes: { a: "YQ==" }, format: { b: "Yg==" } }));
  const before = await FileKeyValue.open(file);
  await before.save();
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
    format: 1,
    stores: { notes: { a: "YQ==" }, format: { b: "Yg==" } },
  });
  const after = await FileKeyValue.open(file);
  expect(Buffer.from((await after.open("notes").get("a", NEVER)) ?? []).toString()).toBe("a");
});

test("what several processes write to key-value stores in one file is there for all of them", async () => {
  const file = join(await createFolder(), "store.json");
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  const first = await FileKeyValue.open(file);
  await first.open("notes").update(
    ["shared", "mine", "gone"].map((key) => ({ key, value: bytes("1") })),
    NEVER,
  );
  await first.save();
  const others = await Promise.all(Array.from({ length: 8 }, () => FileKeyValue.open(file)));
  await first.open("notes").set("mine", bytes("2"), NEVER);
  await first.open("notes").delete("gone", NEVER);
  await first.save();
  for (const [index, other] of others.entries()) {
    await other.open("notes").set(`other ${index}`, bytes("3"), NEVER);
    await other.open(`of ${index}`).set("a", bytes("4"), NEVER);
  }
  await Promise.all(others.map((other) => other.save()));
  await first.save();
  const last = (await FileKeyValue.open(file)).open("notes");
  expect(await last.listKeys(undefined, 20, NEVER)).toEqual([
    "mine",
    ...others.map((_, index) => `other ${index}`),
    "shared",
  ]);
  expect(Buffer.from((await last.get("mine", NEVER)) ?? []).toString()).toBe("2");
  const { stores } = JSON.parse(await readFile(file, "utf8"));
  expect(Object.keys(stores)).toEqual(["notes", ...others.map((_, index) => `of ${index}`)]);
});

test("a result of sandgate bench of a newer format is not compared", () => {
  expect(() => parseBenchResult('{"format":"sandgate-bench/2"}')).toThrow(NEWER);
  expect(parseBenchResult('{"format":"sandgate-bench/x"}')).toBeUndefined();
  expect(parseBenchResult("null")).toBeUndefined();
});

test("held changes of a newer format are not opened, and those without a number get one", async () => {
  const folder = await createFolder();
  await mkdir(join(folder, "records"));
  new StagedStore(folder);
  expect(await readFile(join(folder, "format.json"), "utf8")).toBe("1\n");
  await writeFile(join(folder, "format.json"), "2\n");
  expect(() => new StagedStore(folder)).toThrow(NEWER);
  expect((await stat(join(folder, "records"))).isDirectory()).toBe(true);
});

test("the state of a workspace's copy has a number, and is read without one", () => {
  const entry = { kind: "directory" } as const;
  const tree = new Map([["a", entry]]);
  expect(JSON.parse(treeText(tree))).toEqual({ format: 1, entries: [["a", entry]] });
  expect(parseTree(JSON.parse(treeText(tree)))).toEqual(tree);
  expect(parseTree([["a", entry]])).toEqual(tree);
  expect(() => parseTree({ format: 2, entries: [] })).toThrow(NEWER);
});
