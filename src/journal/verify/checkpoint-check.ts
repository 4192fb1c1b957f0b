import { loadCrypto } from "../../base/load-crypto.ts";
import { type Checkpoint, type CheckpointHead, parseCheckpoints } from "../checkpoints/checkpoint.ts";
import { checkNote, type VerifierKey } from "../checkpoints/signed-note.ts";
import type { JournalError } from "../journal-error.ts";
import { isCanonicalLine, type JournalEntry, NO_LINE, parseEntry } from "../line/entry.ts";
import { newerFormat } from "../line/event-parts.ts";
import type { JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import type { JournalContradiction } from "./report.ts";

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

/** Compares the digests of a chain with checkpoints: those of trusted keys, or all of them if no key is given. */
export class CheckpointCheck {
  readonly #keys: readonly VerifierKey[];
  /** The digests that trusted checkpoints have, by the number of records. */
  readonly #digests = new Map<number, string>();
  /** The journals of other machines that named a head which no checkpoint of its own has, by the number of records. */
  readonly #namedBy = new Map<number, string>();
  /** The numbers of records for which there are two digests. */
  readonly #forked = new Set<number>();
  /** The first contradiction among the checkpoints themselves. */
  #problem: JournalContradiction | undefined;
  #matching = 0;
  #covered = 0;
  #last = 0;

  /** @param keys If there are none, signatures are not checked. */
  constructor(keys: readonly VerifierKey[]) {
    this.#keys = keys;
  }

  /** The highest number of records that a checkpoint covers; 0 if none. */
  get last(): number {
    return this.#last;
  }

  /**
   * Adds checkpoints.
   *
   * @param source Where they are from, for messages.
   * @param mayBeTorn Whether a crash can have left a part of a checkpoint at the end.
   * @param isOther Whether a checkpoint is left out, since it is of another journal. Default: all are of this one.
   */
  add(
    text: string,
    source: string,
    mayBeTorn: boolean,
    isOther: (origin: string) => boolean = () => false,
  ): void {
    const { checkpoints, rest } = parseCheckpoints(text);
    for (const checkpoint of checkpoints) {
      if (!isOther(checkpoint.origin)) this.#addOne(checkpoint, source);
    }
    if (rest === "" || (mayBeTorn && isTorn(rest))) return;
    const seq = (checkpoints.at(-1)?.records ?? 0) + 1;
    this.#report({ kind: "forged", seq, file: source, message: "there is a text that is no checkpoint" });
  }

  /**
   * Adds a head that a checkpoint of another journal names. Its signature was checked.
   *
   * @param namedBy The other journal.
   */
  addNamed({ records, digest }: CheckpointHead, namedBy: string): void {
    const agrees = this.agrees(records, digest);
    if (agrees === undefined) {
      this.#namedBy.set(records, namedBy);
      this.#set(records, digest);
    } else if (!agrees) {
      this.#forked.add(records);
      const message = `its checkpoint of ${records} records has another digest than '${namedBy}' names: there are two journals`;
      this.#report({ kind: "forked", seq: records, message });
    }
  }

  /** Whether the digest of a line is that of its checkpoint; `undefined` without one. */
  agrees(seq: number, digest: string): boolean | undefined {
    const expected = this.#digests.get(seq);
    return expected === undefined ? undefined : expected === digest;
  }

  /** Compares the digest of the next line of the chain. */
  follow(seq: number, digest: string): JournalContradiction | undefined {
    const from = this.#covered + 1;
    const range = { seq: from, ...(from < seq && { through: seq }) };
    if (this.#forked.has(seq)) return { ...forked(seq), ...range };
    const agrees = this.agrees(seq, digest);
    if (agrees === undefined) return undefined;
    if (agrees) {
      this.#matching++;
      this.#covered = seq;
      return undefined;
    }
    return {
      kind: "rewritten",
      ...range,
      message: `the checkpoint of ${seq} records${this.#namer(seq)} has another digest: records ${from} to ${seq} were not written so`,
    };
  }

  /** Notes a key with which the journal was opened. */
  openedWith(verifierKey: string, seq: number): void {
    if (this.#keys.length === 0) return;
    if (this.#keys.some(({ name, id }) => verifierKey.startsWith(`${name}+${id}+`))) return;
    const message = `record ${seq} says that the journal was opened with another key: ${verifierKey}`;
    this.#report({ kind: "key", seq, message });
  }

  /** Returns what the checkpoints say once the chain has ended. */
  finish(lastSeq: number): JournalContradiction | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#last <= lastSeq) return undefined;
    return {
      kind: "cut",
      seq: lastSeq + 1,
      ...(lastSeq + 1 < this.#last && { through: this.#last }),
      message: `records ${lastSeq + 1} to ${this.#last} were cut off: a checkpoint${this.#namer(this.#last)} covers them`,
    };
  }

  /** See `JournalReport.checkpoints`. */
  summary(lastSeq: number): { matching: number; covered: number; uncovered: number } {
    return {
      matching: this.#matching,
      covered: this.#covered,
      uncovered: Math.max(lastSeq - this.#covered, 0),
    };
  }

  #addOne({ note, origin, records, digest }: Checkpoint, source: string): void {
    const place = { seq: records, file: source };
    const isUnchecked = this.#keys.length === 0;
    const check = isUnchecked ? "signed" : checkNote(note, this.#keys);
    const signers = note.signatures.map(({ name, id }) => `${name}+${id}`).join(", ");
    if (check === "forged") {
      this.#report({
        kind: "forged",
        ...place,
        message: `the checkpoint of ${records} records has a wrong signature`,
      });
    } else if (check === "other" || !(isUnchecked || this.#keys.some(({ name }) => name === origin))) {
      const message = `the checkpoint of ${records} records is signed by another key: ${signers}`;
      this.#report({ kind: "key", ...place, message });
    } else if (this.agrees(records, digest) === false) {
      this.#forked.add(records);
      this.#report({ ...forked(records), ...place });
    } else {
      this.#set(records, digest);
    }
  }

  #set(records: number, digest: string): void {
    this.#digests.set(records, digest);
    this.#last = Math.max(this.#last, records);
  }

  /** Says which journal named a checkpoint. */
  #namer(records: number): string {
    const namedBy = this.#namedBy.get(records);
    return namedBy === undefined ? "" : ` that '${namedBy}' names`;
  }

  #report(problem: JournalContradiction): void {
    if (this.#problem === undefined || problem.seq < this.#problem.seq) this.#problem = problem;
  }
}

function forked(records: number): JournalContradiction {
  const message = `two checkpoints of ${records} records have different digests: there are two journals`;
  return { kind: "forked", seq: records, message };
}

/** A checkpoint that was written in part has no complete signature yet. */
function isTorn(rest: string): boolean {
  return !/\n— [^\n]*\n/.test(rest);
}
