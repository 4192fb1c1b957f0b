import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { JournalIndex } from "../../src/journal/overview/journal-index.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { recordCalls, TemporaryDirectory } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");

async function write(directory: string, more: object): Promise<void> {
  await using journal = await openJournal({ directory, maxBytes: 4_096, ...more });
  await recordCalls(journal, 12);
}

test.each([
  { what: "its checkpoints", more: { key: signer } },
  { what: "its sealed arguments", more: { arguments: "sealed" } },
])("A journal whose newest file was deleted, but not $what, is not written to", async ({ more }) => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, more);
  const files = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  expect(files.length).toBeGreaterThan(2);
  for (const count of [1, files.length]) {
    for (const name of files.splice(-count)) rmSync(join(directory, name));
    for (const options of [more, {}])
      await expect(write(directory, options)).rejects.toThrow(/last records of the journal are missing/);
    expect(readdirSync(directory).filter((name) => name.endsWith(".jsonl"))).toEqual(files);
    expect((await verifyJournal({ directory })).contradiction?.kind).toBe("cut");
  }
});

test.each([
  { what: "its checkpoints", more: { key: signer } },
  { what: "its sealed arguments", more: { arguments: "sealed" } },
])("Files whose newest one was deleted, but not $what, contradict if all of their folder are given", async ({
  more,
}) => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, more);
  const files = readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(directory, name));
  expect((await verifyJournal({ files })).contradiction).toBeUndefined();
  rmSync(files.pop() ?? "");
  expect((await verifyJournal({ files: files.slice(0, -1) })).contradiction).toBeUndefined();
  expect((await verifyJournal({ files })).contradiction?.kind).toBe("cut");
  expect((await verifyJournal({ files: files.slice(1) })).contradiction).toBeUndefined();
});

test.each([
  "jsonl",
  "checkpoints",
  "sealed",
])("A pipe in place of a file (%s) does not block", async (ending) => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, { key: signer, arguments: "sealed" });
  const path = join(directory, `journal-0000000000000001.${ending}`);
  rmSync(path);
  execFileSync("mkfifo", [path]);
  await expect(verifyJournal({ directory, keys: [verifier] })).rejects.toThrow("it is not a file");
});

test("A pipe in place of a session's key, or a link that leads nowhere, is no reason for a new key", async () => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, { arguments: "sealed" });
  const [name = ""] = readdirSync(join(directory, "keys"));
  const path = join(directory, "keys", name);
  rmSync(path);
  execFileSync("mkfifo", [path]);
  await expect(write(directory, { arguments: "sealed" })).rejects.toThrow("is no key");
  rmSync(path);
  symlinkSync(path, path);
  await expect(write(directory, { arguments: "sealed" })).rejects.toThrow("cannot be read: ELOOP");
});

test("Pipes in place of the stored index do not block, and the index is made anew", async () => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, {});
  const path = join(directory, "overview.json");
  for (const each of [path, `${path}.part`]) execFileSync("mkfifo", [each]);
  const index = await JournalIndex.open(directory);
  for await (const _ of index.readOn());
  await index.save();
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ format: 1 });
});

test("A pipe in place of the last file is not written to", async () => {
  using temporary = new TemporaryDirectory();
  execFileSync("mkfifo", [join(temporary.path, "journal-0000000000000001.jsonl")]);
  await expect(openJournal({ directory: temporary.path })).rejects.toThrow("is not a file");
});

test("A record that was changed to say that a newer version wrote it is named as changed", async () => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory, {});
  const [name = ""] = readdirSync(directory).filter((each) => each.endsWith(".jsonl"));
  const path = join(directory, name);
  writeFileSync(path, readFileSync(path, "utf8").replace('"format":1', '"format":9'));
  expect((await verifyJournal({ directory })).contradiction).toMatchObject({ kind: "changed", seq: 1 });
});
