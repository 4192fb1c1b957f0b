import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { archiveJournal } from "../../src/journal/archive-journal.ts";
import { createJournalKeys } from "../../src/journal/checkpoints/signed-note.ts";
import { verifyJournal } from "../../src/journal/verify/verify-journal.ts";
import { recordsIn, TemporaryDirectory, writeRecords } from "./records.ts";

const { signer, verifier } = createJournalKeys("example.com/journal");
const LATER = 10_000_000_000_000;

test.each([
  undefined,
  signer,
])("A journal whose oldest file was deleted is not archived, which would hide it (key: %s)", async (text) => {
  using temporary = new TemporaryDirectory();
  const directory = join(temporary.path, "records");
  const to = join(temporary.path, "archive");
  const key = text === undefined ? {} : { key: text };
  const options = { directory, to, before: LATER, ...key };
  const deleteOldest = (): void => {
    const [oldest = ""] = recordsIn(directory).map((path) => basename(path, ".jsonl"));
    for (const name of readdirSync(directory)) if (name.startsWith(oldest)) rmSync(join(directory, name));
  };
  await writeRecords(directory, text);
  await archiveJournal(options);
  await writeRecords(directory, text);
  deleteOldest();
  const message = /contradicts itself: records \d+ to \d+ are missing/;
  await expect(archiveJournal(options)).rejects.toThrow(message);
  rmSync(directory, { recursive: true });
  await writeRecords(directory, text);
  deleteOldest();
  await expect(archiveJournal({ ...options, to: `${to}-2` })).rejects.toThrow(message);
});

const MEMORY = "/dev/shm";
const isOtherDisk = existsSync(MEMORY) && statSync(MEMORY).dev !== statSync(tmpdir()).dev;

test.skipIf(!isOtherDisk)(
  "Archiving to another disk goes on where it was killed, and replaces no other file",
  async () => {
    using temporary = new TemporaryDirectory();
    const directory = join(temporary.path, "records");
    await writeRecords(directory, signer);
    const paths = recordsIn(directory);
    const to = mkdtempSync(join(MEMORY, "sandgate-archive-"));
    const archive = () => archiveJournal({ directory, to, before: LATER, key: signer });
    try {
      const [first = "", second = ""] = paths.map((path) => basename(path));
      writeFileSync(join(to, second), "another file");
      await expect(archive()).rejects.toThrow(`'${join(to, second)}' already exists`);
      expect(readFileSync(join(to, second), "utf8")).toBe("another file");
      rmSync(join(to, second));
      // Killed after the file was copied, and before it was removed here.
      copyFileSync(join(to, first), join(directory, first));
      await archive();
      expect(recordsIn(directory)).toEqual(paths.slice(-1));
      expect(readdirSync(to).filter((name) => !/\.(?:jsonl|checkpoints)$/.test(name))).toEqual([]);
      const all = await verifyJournal({ files: [...recordsIn(to), ...paths.slice(-1)], keys: [verifier] });
      expect(all).toMatchObject({ first: 1 });
      expect(all).not.toHaveProperty("contradiction");
    } finally {
      rmSync(to, { recursive: true });
    }
  },
);
