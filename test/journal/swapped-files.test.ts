import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { archiveJournal } from "../../src/journal/archive-journal.ts";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../src/journal/journal.ts";
import type { JournalOptions } from "../../src/journal/options.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { recordCalls, recordsIn, TemporaryDirectory, writeRecords } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");
const LATER = 10_000_000_000_000;

async function write(options: JournalOptions, calls: number, name?: string): Promise<void> {
  await using journal = await openJournal(options);
  await recordCalls(journal, calls, name);
}

/** Puts a file of a journal, and what stands beside it, in place of that of another one. */
function swapIn(path: string, directory: string): void {
  const stem = basename(path, ".jsonl");
  for (const name of readdirSync(join(path, "..")))
    if (name.startsWith(stem)) copyFileSync(join(path, "..", name), join(directory, name));
}

test.each([
  false,
  true,
])("The last file of another journal with the same key is not continued (others archived: %s)", async (isArchived) => {
  using temporary = new TemporaryDirectory();
  const [one, other] = ["one", "other"].map((name) => join(temporary.path, name)) as [string, string];
  for (const directory of [one, other]) {
    await writeRecords(directory, signer, 40);
    if (isArchived)
      await archiveJournal({ directory, to: `${directory}-archive`, before: LATER, key: signer });
  }
  const [last = ""] = recordsIn(one).sort().slice(-1);
  const [otherLast = ""] = recordsIn(other).sort().slice(-1);
  expect(basename(last)).toBe(basename(otherLast));
  swapIn(otherLast, one);
  await expect(writeRecords(one, signer)).rejects.toThrow(
    `'${last}' does not continue the records before it: nothing can be added to it`,
  );
  expect((await verifyJournal({ directory: one, keys: [verifier] })).contradiction).toBeDefined();
});

test("A chain that was written anew is not continued, and not signed, however long it is", async () => {
  using temporary = new TemporaryDirectory();
  const [one, other] = ["one", "other"].map((name) => join(temporary.path, name)) as [string, string];
  await write({ directory: one, key: signer }, 3);
  await write({ directory: other }, 30, "other");
  const [file = ""] = recordsIn(one);
  copyFileSync(recordsIn(other)[0] ?? "", file);
  const message = `the journal contradicts its checkpoint of 7 records in '${file.replace("jsonl", "checkpoints")}'`;
  await expect(write({ directory: one, key: signer }, 1)).rejects.toThrow(message);
  // Without a key, it is the same journal.
  await expect(write({ directory: one }, 1)).rejects.toThrow(message);
});

const peer = createJournalKeys("example.com/peer");

test.each([
  "its own",
  "that of a peer",
])("An older copy is not continued if a published checkpoint (%s) has more records", async (whose) => {
  using temporary = new TemporaryDirectory();
  const [directory, peers] = [join(temporary.path, "records"), join(temporary.path, "peers")];
  mkdirSync(peers);
  const shared = { directory: peers, keys: [verifier, peer.verifier] };
  const options = { directory, key: signer, peers: shared };
  await write(options, 3);
  const published = join(peers, `${verifier.split("+")[1]}.checkpoint`);
  copyFileSync(published, `${published}.old`);
  cpSync(directory, `${directory}.old`, { recursive: true });
  await write(options, 10, "later");
  await write({ directory: `${directory}.peer`, key: peer.signer, peers: shared }, 1);
  // What is as the peer knows it goes on.
  await write(options, 1);
  rmSync(directory, { recursive: true });
  renameSync(`${directory}.old`, directory);
  if (whose === "its own") rmSync(join(peers, `${peer.verifier.split("+")[1]}.checkpoint`));
  else renameSync(`${published}.old`, published);
  await expect(write(options, 1)).rejects.toThrow(/contradicts its checkpoint of \d+ records in '.*peers/);
  // What others write there says nothing.
  for (const name of readdirSync(peers)) writeFileSync(join(peers, name), "example.com/journal\n99\n");
  await write(options, 1);
});
