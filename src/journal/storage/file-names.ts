import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { GuardedFile } from "../../base/guarded-files.ts";

/** A file of a journal. */
export interface JournalFileName {
  readonly path: string;
  /** The number of its first record, which its name has. */
  readonly firstSeq: number;
}

const FORM = /^journal-(\d{16})\.jsonl$/;

/** Returns the path of the file whose first record has a number. Names sort in the order of the chain. */
export function journalFile(directory: string, firstSeq: number): string {
  return join(directory, `journal-${String(firstSeq).padStart(16, "0")}.jsonl`);
}

/** What no tool may change of a journal, nor read: the arguments that are sealed, and their keys. */
export function journalFiles(directory: string): readonly GuardedFile[] {
  return [
    { path: directory, access: "read", isFolder: true },
    { path: directory, isFolder: true, ending: ".sealed" },
    { path: join(directory, "keys"), isFolder: true },
  ];
}

/** Returns the path of a file that stands beside a file of a journal, such as the one of its checkpoints. */
export function besideFile(path: string, extension: "checkpoints" | "sealed"): string {
  return `${path.replace(/\.jsonl$/, "")}.${extension}`;
}

/** Reads the name of a file of a journal; `undefined` if it is none. */
export function parseFileName(path: string): JournalFileName | undefined {
  const [, digits] = FORM.exec(basename(path)) ?? [];
  return digits === undefined ? undefined : { path, firstSeq: Number(digits) };
}

/** Lists the files of a journal in the order of the chain. */
export async function listFiles(directory: string): Promise<JournalFileName[]> {
  const names = await readdir(directory);
  return names
    .sort()
    .map((name) => parseFileName(join(directory, name)))
    .filter((file) => file !== undefined);
}

const BESIDE = /^journal-(\d{16})\.(?:checkpoints|sealed|jsonl\.\d+\.torn)$/;

/** Finds what stands beside files with records that are not there, in the order of the chain. */
export async function listStrays(directory: string): Promise<JournalFileName[]> {
  const names = await readdir(directory);
  return names.sort().flatMap((name) => {
    const firstSeq = Number(BESIDE.exec(name)?.[1] ?? Number.NaN);
    // Asked after the names were read: a journal in use grows.
    const isStray = !Number.isNaN(firstSeq) && !existsSync(journalFile(directory, firstSeq));
    return isStray ? [{ path: join(directory, name), firstSeq }] : [];
  });
}

/** Returns the directory of a journal, given itself or one of its files. */
export function directoryOf(place: string): string {
  return parseFileName(place) === undefined ? place : dirname(place);
}
