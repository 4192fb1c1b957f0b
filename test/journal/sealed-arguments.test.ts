import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { JournalHistory } from "../../src/journal/history/journal-history.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { forgetSession } from "../../src/journal/session-keys.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { dispatched, ended, recordCalls, TemporaryDirectory } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");

/** Writes a journal with sealed arguments in several files, and returns the paths of some of them. */
async function write(directory: string, ending = ".sealed"): Promise<string[]> {
  {
    await using journal = await openJournal({
      directory,
      key: signer,
      maxBytes: 4_096,
      arguments: "sealed",
    });
    await recordCalls(journal, 12);
  }
  return readdirSync(directory)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(directory, name));
}

const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");
const rewrite = (path: string, lines: readonly string[]): void =>
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));

describe("Sealed arguments that were edited are found", () => {
  const edits: [string, (path: string) => void][] = [
    ["the file is removed", (path) => rmSync(path)],
    ["the file is renamed", (path) => renameSync(path, `${path}.old`)],
    ["the file is emptied", (path) => truncateSync(path)],
    ["a line is cut", (path) => truncateSync(path, 20)],
    ["a line is missing", (path) => rewrite(path, linesOf(path).slice(1))],
    ["a character is another one", (path) => rewrite(path, [`-${linesOf(path).join("\n").slice(1)}`])],
    ["the lines end as on Windows", (path) => writeFileSync(path, linesOf(path).join("\r\n"))],
    ["a byte order mark stands before them", (path) => rewrite(path, [`\ufeff${linesOf(path).join("\n")}`])],
  ];

  test.each(edits)("if %s", async (_what, edit) => {
    using temporary = new TemporaryDirectory();
    const directory = temporary.path;
    const files = await write(directory);
    expect(files.length).toBeGreaterThan(2);
    expect(await verifyJournal({ directory, keys: [verifier] })).not.toHaveProperty("contradiction");
    const edited = files[1] ?? "";
    edit(edited);
    for (const keys of [[], [verifier]]) {
      const { contradiction } = await verifyJournal({ directory, keys });
      expect(contradiction).toMatchObject({ kind: "sealed", file: edited });
      // The first record of the file says that it goes on after another one.
      expect(contradiction?.seq).toBeGreaterThan(Number(/\d{16}/.exec(edited)?.[0]));
    }
  });

  test("if those of two files are exchanged", async () => {
    using temporary = new TemporaryDirectory();
    const directory = temporary.path;
    const [one = "", , other = ""] = await write(directory);
    renameSync(one, `${one}.part`);
    renameSync(other, one);
    renameSync(`${one}.part`, other);
    expect((await verifyJournal({ directory })).contradiction).toMatchObject({ kind: "sealed", file: one });
  });

  test("after what contradicts in an earlier record", async () => {
    using temporary = new TemporaryDirectory();
    const directory = temporary.path;
    const [first = "", second = ""] = await write(directory);
    rmSync(second);
    const records = first.replace(".sealed", ".jsonl");
    writeFileSync(records, readFileSync(records, "utf8").replace("write_file", "read_files"));
    expect((await verifyJournal({ directory })).contradiction).toMatchObject({ kind: "changed", seq: 2 });
  });
});

test("A session that was forgotten is not a contradiction", async () => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await write(directory);
  expect(await forgetSession(directory, "session-1")).toBe(true);
  expect(await verifyJournal({ directory, keys: [verifier] })).not.toHaveProperty("contradiction");
});

test("Copies of a journal's files can be verified without the sealed arguments", async () => {
  using temporary = new TemporaryDirectory();
  using copies = new TemporaryDirectory();
  const files = await write(temporary.path, ".jsonl");
  const copied = files.map((path, index) => {
    const copy = join(copies.path, `${index}`);
    writeFileSync(copy, readFileSync(path));
    return copy;
  });
  expect(await verifyJournal({ files: copied })).not.toHaveProperty("contradiction");
});

test("The sealed arguments of a call stand beside the file that has its record, even if the call waited for another file", async () => {
  using temporary = new TemporaryDirectory();
  const directory = temporary.path;
  await using journal = await openJournal({ directory, maxBytes: 1_024, arguments: "sealed" });
  for (let round = 0; round < 6; round++) {
    const ids = [1, 2, 3].map((each) => `call-${round}-${each}`);
    await Promise.all(ids.map((id) => journal.begin(dispatched(id, { id }))));
    for (const id of ids) journal.end(ended(id));
  }
  await journal.flush();
  const history = new JournalHistory(journal, directory);
  let count = 0;
  const files = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  expect(files.length).toBeGreaterThan(4);
  for (const name of files) {
    for (const line of linesOf(join(directory, name))) {
      const entry = JSON.parse(line);
      if (entry.type !== "tool.call.dispatched") continue;
      expect(await history.argumentsOf(entry)).toEqual({ value: { id: entry.tool_call_id } });
      count++;
    }
  }
  expect(count).toBe(18);
});
