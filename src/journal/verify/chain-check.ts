import { loadCrypto } from "../../base/load-crypto.ts";
import type { JournalError } from "../journal-error.ts";
import { isCanonicalLine, type JournalEntry, NO_LINE, parseEntry } from "../line/entry.ts";
import { newerFormat } from "../line/event-parts.ts";
import type { JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";

/** The place where a chain is broken, and what is known before it. */
export interface Break {
  readonly file: JournalFileName;
  readonly fileIndex: number;
  /** The position of the line in its file. */
  readonly start: number;
  /** Whether the line has no newline, although other files follow. */
  readonly isTorn: boolean;
  /** Whether the line is the first one of its file. */
  readonly isFirst: boolean;
  /** The number that the record should have. */
  readonly expected: number;
  /** The digest of the line before, and of the line before that; `undefined` if none. */
  readonly before: string;
  readonly secondBefore: string | undefined;
}

/** Where a chain begins. */
export interface ChainStart {
  /** The number of the first record. */
  readonly seq: number;
  /** The digest of the line before it. */
  readonly prev: string;
}

/** The result of reading a chain. */
export interface ChainResult {
  readonly first: number;
  readonly last: number;
  readonly torn?: { readonly file: string; readonly bytes: number };
  readonly break?: Break;
  /** What `follow` returned, if it stopped the reading. */
  readonly stopped?: unknown;
}

/** The part of a chain to read. */
export interface ReadOptions {
  readonly files: readonly JournalFileName[];
  /** `undefined`: whatever the first file has. */
  readonly start: ChainStart | undefined;
  /** The last record that a trusted checkpoint covers. Lines up to it need not be canonical to be those that were written. */
  readonly signed: number;
  /** Called after each file whose chain is intact. */
  readonly endFile?: (file: JournalFileName) => Promise<void>;
}

/**
 * Reads files and checks their chain, up to the first line that does not continue it.
 *
 * @param follow Is called with each record and its digest, in order. If it returns anything, the reading stops, unless
 *   the line after the record does not continue the chain, which shows more exactly what happened.
 * @throws {JournalError} as a rejection, if a file cannot be read, or a record says that those after it have a newer format.
 */
export async function readChain<Stop>(
  { files, start, signed, endFile }: ReadOptions,
  follow: (entry: JournalEntry, digest: string) => Stop | undefined,
): Promise<ChainResult & { readonly stopped?: Stop }> {
  const { hash } = loadCrypto();
  let first = 0;
  let expected = start?.seq ?? files[0]?.firstSeq ?? 1;
  let before: string | undefined = start?.prev ?? (expected === 1 ? NO_LINE : undefined);
  let secondBefore: string | undefined;
  let at = 0;
  let stopped: Stop | undefined;
  let newer: JournalError | undefined;
  for (const [fileIndex, file] of files.entries()) {
    const reader = new LineReader(file.path);
    let isFirst = true;
    for await (const lines of reader.batches()) {
      for (const { bytes, start } of lines) {
        const entry = parseEntry(bytes.toString());
        // The first of some files shows what came before them.
        before ??= entry?.prev ?? "";
        const fits = entry?.seq === expected && entry.prev === before && entry.at >= at;
        const begins = !isFirst || beginsFile(entry, file);
        if (!fits || !begins || (expected > signed && !isCanonicalLine(bytes, entry))) {
          const place = { file, fileIndex, start, isFirst, isTorn: false };
          const found = { ...place, expected, before, secondBefore };
          return { first, last: expected - 1, break: found };
        }
        if (stopped !== undefined) return { first, last: expected - 1, stopped };
        // Thrown only now: this line says that the one before is as it was written.
        if (newer !== undefined) throw newer;
        newer = newerFormat(entry, file.path);
        isFirst = false;
        if (first === 0) first = expected;
        at = entry.at;
        expected++;
        secondBefore = before;
        before = hash("sha256", bytes);
        stopped = follow(entry, before);
      }
    }
    if (stopped === undefined && newer === undefined) await endFile?.(file);
    if (reader.tornBytes === 0) continue;
    if (fileIndex === files.length - 1) {
      if (stopped === undefined && newer !== undefined) throw newer;
      const torn = { file: file.path, bytes: reader.tornBytes };
      return { first, last: expected - 1, torn, ...(stopped !== undefined && { stopped }) };
    }
    const place = { file, fileIndex, start: reader.end, isFirst, isTorn: true };
    const found = { ...place, expected, before: before ?? NO_LINE, secondBefore };
    return { first, last: expected - 1, break: found };
  }
  if (stopped === undefined && newer !== undefined) throw newer;
  return { first, last: expected - 1, ...(stopped !== undefined && { stopped }) };
}

/** Whether a record can be the first one of a file. */
export function beginsFile(entry: JournalEntry | undefined, { firstSeq }: JournalFileName): boolean {
  return entry?.seq === firstSeq && (firstSeq === 1 || entry.type === "journal.rotated");
}
