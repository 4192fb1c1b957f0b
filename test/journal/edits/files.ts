import { hash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JournalKeys } from "../../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { denied, recordCalls, TemporaryDirectory } from "../records.ts";

/** The files of a journal, held in memory. */
export interface JournalFiles {
  /** In the order of the chain. */
  readonly files: { readonly name: string; lines: string[] }[];
  /** The checkpoints beside each file, by the file's name. */
  readonly notes: Map<string, string[]>;
}

/** Writes a journal of about a hundred records in several files, which was opened four times. */
export async function writeJournal({ signer: key }: JournalKeys): Promise<JournalFiles> {
  using directory = new TemporaryDirectory();
  for (let open = 0; open < 4; open++) {
    await using journal = await openJournal({ directory: directory.path, key, maxBytes: 10_000 });
    await recordCalls(journal, 12, `call-${open}`);
    journal.deny(denied(`denied-${open}`));
  }
  return readJournal(directory.path);
}

export function readJournal(directory: string): JournalFiles {
  const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  const read = (name: string): string => readFileSync(join(directory, name), "utf8");
  return {
    files: names.map((name) => ({ name, lines: read(name).split("\n").slice(0, -1) })),
    notes: new Map(
      names.map((name) => [name, read(name.replace(".jsonl", ".checkpoints")).split(/(?<=\n)\n(?=[^—])/)]),
    ),
  };
}

export function copyFiles({ files, notes }: JournalFiles): JournalFiles {
  return {
    files: files.map(({ name, lines }) => ({ name, lines: [...lines] })),
    notes: new Map([...notes].map(([name, each]) => [name, [...each]])),
  };
}

/** A line that ends with this text has no newline. */
export const TORN = "\u0000torn";
const NO_NEWLINE = `${TORN}\n`;

/** Writes files into an empty directory. */
export function writeFiles({ files, notes }: JournalFiles, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  for (const { name, lines } of files) {
    const text = lines.map((line) => `${line}\n`).join("");
    writeFileSync(join(directory, name), Buffer.from(text.replace(NO_NEWLINE, ""), "latin1"));
  }
  for (const [name, each] of notes) {
    writeFileSync(join(directory, name.replace(".jsonl", ".checkpoints")), each.join("\n"));
  }
}

/** The place of a record, by its number. */
export function placeOf(
  { files }: JournalFiles,
  seq: number,
): { readonly lines: string[]; readonly index: number } {
  let index = seq - 1;
  for (const { lines } of files) {
    if (index < lines.length) return { lines, index };
    index -= lines.length;
  }
  throw new RangeError(`there is no record ${seq}`);
}

export function countRecords({ files }: JournalFiles): number {
  return files.reduce((sum, { lines }) => sum + lines.length, 0);
}

/** Writes the chain anew from a record on, as somebody who changed it would. */
export function rechain(journal: JournalFiles, from: number): void {
  const count = countRecords(journal);
  for (let seq = from; seq <= count; seq++) {
    const { lines, index } = placeOf(journal, seq);
    const prev = seq === 1 ? "0".repeat(64) : digestOf(journal, seq - 1);
    lines[index] = (lines[index] ?? "").replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${prev}"`);
  }
}

export function digestOf(journal: JournalFiles, seq: number): string {
  const { lines, index } = placeOf(journal, seq);
  return hash("sha256", Buffer.from(lines[index] ?? "", "latin1"));
}

/** The numbers of records that checkpoints cover, in order. */
export function coveredCounts({ notes }: JournalFiles): number[] {
  return [...notes.values()]
    .flat()
    .map((note) => Number(note.split("\n")[1]))
    .sort((a, b) => a - b);
}
