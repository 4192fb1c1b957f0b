import { join } from "node:path";
import { createJournalKeys, readSigningKey } from "../../../src/journal/checkpoints/signed-note.ts";
import { type VerifyOptions, verifyJournal } from "../../../src/journal/verify/verify-journal.ts";
import { TemporaryDirectory } from "../records.ts";
import { EDITS, type Edit, type Expected } from "./edits.ts";
import { FILE_EDITS, WITHOUT_COPY_OR_KEY } from "./file-edits.ts";
import { copyFiles, type JournalFiles, writeFiles, writeJournal } from "./files.ts";
import { Random } from "./random.ts";

/** These edits also replace the checkpoints: the copies would tell what is wrong in another way. */
const WITHOUT_COPY: readonly string[] = [
  "sign with another key",
  "write anew and sign with another key",
  "set the clock back",
];
const ALL: Readonly<Record<string, Edit>> = { ...EDITS, ...FILE_EDITS };

/** An edit that was not found as it should be. */
export interface Missed {
  readonly edit: string;
  readonly seed: number;
  readonly expected: Expected;
  readonly found: unknown;
}

/**
 * Edits copies of a journal and verifies each.
 *
 * @returns The edits that were not found as they should be, and how many there were of each kind.
 */
export async function checkEdits(
  count: number,
  firstSeed: number,
): Promise<{ readonly missed: readonly Missed[]; readonly counts: Readonly<Record<string, number>> }> {
  using directory = new TemporaryDirectory();
  const keys = createJournalKeys("example.com/journal");
  const key = readSigningKey(keys.signer);
  const original = await writeJournal(keys);
  const copies = [[...original.notes.values()].flat().join("\n")];
  const path = join(directory.path, "journal");
  const missed: Missed[] = [];
  const counts: Record<string, number> = {};
  const names = Object.keys(ALL);
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const edit = names[seed % names.length] ?? "";
    const journal = copyFiles(asBytes(original));
    const expected = ALL[edit]?.(journal, new Random(seed), key);
    if (expected === undefined) throw new RangeError(edit);
    writeFiles(journal, path);
    const withKey = { directory: path, keys: [keys.verifier] };
    const isAlone = WITHOUT_COPY.includes(edit) || edit in FILE_EDITS;
    const tries: VerifyOptions[] = [{ ...withKey, checkpoints: isAlone ? [] : copies }];
    if (WITHOUT_COPY_OR_KEY.includes(edit)) tries.push({ directory: path });
    counts[expected.kind] = (counts[expected.kind] ?? 0) + 1;
    for (const options of tries) {
      const { contradiction } = await verifyJournal(options);
      const { kind = "sound", seq = 0, through } = contradiction ?? {};
      const found = { kind, seq, ...(through !== undefined && { through }) };
      if (JSON.stringify(found) === JSON.stringify(expected)) continue;
      missed.push({ edit, seed, expected, found: { ...found, hasKey: "keys" in options } });
    }
  }
  return { missed, counts };
}

/** Each character stands for a byte. */
function asBytes({ files, notes }: JournalFiles): JournalFiles {
  const latin1 = (line: string): string => Buffer.from(line).toString("latin1");
  return { files: files.map(({ name, lines }) => ({ name, lines: lines.map(latin1) })), notes };
}
