import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { archiveJournal } from "../../src/journal/archive-journal.ts";
import { createJournalKeys, readSigningKey, signNote } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import type { JournalNotice } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { recordCalls, recordsIn, TemporaryDirectory, writeRecords } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");
const LATER = 10_000_000_000_000;

test.each([
  undefined,
  signer,
])("An archived journal is sound, goes on, and can be archived again (key: %s)", async (text) => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const to = join(temporary.path, "archive");
  const key = text === undefined ? {} : { key: text };
  const keys = text === undefined ? [] : [verifier];
  await writeRecords(directory, text);
  const before = recordsIn(directory).length;
  expect(before).toBeGreaterThan(3);
  expect(await archiveJournal({ directory, to, before: 0, ...key })).toBeUndefined();
  const first = await archiveJournal({ directory, to, before: LATER, ...key });
  expect(recordsIn(directory)).toHaveLength(1);
  expect(recordsIn(to)).toHaveLength(before - 1);
  const report = await verifyJournal({ directory, keys });
  expect(report).toMatchObject({ first: (first?.records ?? 0) + 1, archived: first?.records });
  expect(report).not.toHaveProperty("contradiction");
  await writeRecords(directory, text);
  await archiveJournal({ directory, to, before: LATER, ...key });
  expect(await verifyJournal({ directory, keys })).not.toHaveProperty("contradiction");
  const all = await verifyJournal({ files: [...recordsIn(directory), ...recordsIn(to)], keys });
  expect(all).toMatchObject({ first: 1 });
  expect(all).not.toHaveProperty("contradiction");
});

test("A journal in use can be archived, without a notice", async () => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const notices: JournalNotice[] = [];
  await using journal = await openJournal({
    directory,
    maxBytes: 4_096,
    key: signer,
    onNotice: (notice) => notices.push(notice),
  });
  await recordCalls(journal, 20);
  await archiveJournal({
    directory,
    to: join(temporary.path, "archive"),
    before: LATER,
    key: signer,
  });
  await new Promise((resolve) => setTimeout(resolve, 2_200));
  await recordCalls(journal, 20, "later");
  await journal.close();
  expect(notices).toEqual([]);
  expect(await verifyJournal({ directory, keys: [verifier] })).not.toHaveProperty("contradiction");
});

test.each([
  undefined,
  signer,
])("Files after the archived ones that were deleted are missing, and are not written anew (key: %s)", async (text) => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const key = text === undefined ? {} : { key: text };
  const keys = text === undefined ? [] : [verifier];
  await writeRecords(directory, text);
  const archived = await archiveJournal({
    directory,
    to: join(temporary.path, "archive"),
    before: LATER,
    ...key,
  });
  for (const name of readdirSync(directory)) if (name.startsWith("journal-")) rmSync(join(directory, name));
  expect((await verifyJournal({ directory, keys })).contradiction).toMatchObject({
    kind: "cut",
    seq: (archived?.records ?? 0) + 1,
    message: expect.stringContaining("are missing"),
  });
  await expect(writeRecords(directory, text)).rejects.toThrow("the last records of the journal are missing");
  expect(recordsIn(directory)).toEqual([]);
  // As a version wrote it that did not compare.
  const other = join(temporary.path, "other");
  await writeRecords(other, text, 1);
  for (const path of recordsIn(other)) copyFileSync(path, join(directory, basename(path)));
  expect((await verifyJournal({ directory, keys })).contradiction?.kind).toBe("cut");
});

test("What an archive hides is found", async () => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const to = join(temporary.path, "archive");
  await writeRecords(directory, signer, 40);
  await expect(archiveJournal({ directory, to, before: LATER })).rejects.toThrow("has a key");
  const [, second = ""] = recordsIn(directory);
  const middle = readFileSync(second);
  writeFileSync(second, middle.toString().replace("file-", "other-"));
  await expect(archiveJournal({ directory, to, before: LATER, key: signer })).rejects.toThrow(
    "contradicts itself",
  );
  writeFileSync(second, middle);
  const archived = await archiveJournal({ directory, to, before: LATER, key: signer });
  await writeRecords(directory, signer, 40);
  const anchor = join(directory, "archived");
  const signed = readFileSync(anchor, "utf8");
  const kindOf = async (): Promise<string | undefined> =>
    (await verifyJournal({ directory, keys: [verifier] })).contradiction?.kind;
  writeFileSync(anchor, signed.replace(/\n\d+\n/, `\n${(archived?.records ?? 0) + 1}\n`));
  expect(await kindOf()).toBe("forged");
  writeFileSync(anchor, `${signed.split("\n\n")[0]}\n`);
  expect(await kindOf()).toBe("key");
  writeFileSync(anchor, signed);
  expect(await kindOf()).toBeUndefined();
  rmSync(recordsIn(directory)[0] ?? "");
  expect(await kindOf()).toBe("missing");
  rmSync(anchor);
  expect(await kindOf()).toBe("missing");
  writeFileSync(anchor, "no anchor");
  await expect(kindOf()).rejects.toThrow("does not say which records were archived");
});

test("The key of an archived journal is checked, and its name is not repeated", async () => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  await writeRecords(directory, signer);
  const options = { directory, to: join(temporary.path, "archive"), before: LATER };
  for (const key of [verifier, "", "PRIVATE+KEY+secret"])
    await expect(archiveJournal({ ...options, key })).rejects.toThrow(
      new TypeError("the journal's key must be a signing key, as sandgate journal keygen writes it"),
    );
});

const other = createJournalKeys("example.com/journal");

test("A journal that another key signed is archived only if that key is given", async () => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const options = { directory, to: join(temporary.path, "archive"), before: LATER, key: signer };
  await writeRecords(directory, other.signer);
  await writeRecords(directory, signer);
  const before = recordsIn(directory);
  await expect(archiveJournal(options)).rejects.toThrow(
    /contradicts itself: .*another key: .*; if the key was replaced, give the earlier ones as earlierKeys/,
  );
  expect(recordsIn(directory)).toEqual(before);
  await archiveJournal({ ...options, earlierKeys: [other.verifier] });
  expect(recordsIn(directory)).toEqual(before.slice(-1));
  await expect(archiveJournal({ directory, to: options.to, before: LATER, earlierKeys: [] })).rejects.toThrow(
    new TypeError("earlierKeys require a key"),
  );
});

test("A journal of which somebody else says that its oldest records were archived is not archived", async () => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const options = { directory, to: join(temporary.path, "archive"), before: LATER, key: signer };
  await writeRecords(directory, signer, 40);
  const [oldest = "", second = ""] = recordsIn(directory).sort();
  const [line = ""] = readFileSync(second, "utf8").split("\n");
  const { seq, prev } = JSON.parse(line) as { readonly seq: number; readonly prev: string };
  for (const name of readdirSync(directory))
    if (name.startsWith(basename(oldest, ".jsonl"))) rmSync(join(directory, name));
  const digest = Buffer.from(prev, "hex").toString("base64");
  // The second says that moving the files away was interrupted.
  for (const records of [seq - 1, seq]) {
    for (const key of [undefined, other.signer]) {
      const text = `example.com/journal\n${records}\n${digest}\narchived\n`;
      writeFileSync(
        join(directory, "archived"),
        key === undefined ? text : signNote(text, readSigningKey(key)),
      );
      await expect(archiveJournal(options)).rejects.toThrow(
        `no given key signed that records 1 to ${records} were archived`,
      );
      expect(recordsIn(directory).sort()[0]).toBe(second);
    }
  }
});
