import { signCheckpoint } from "../../../src/journal/checkpoints/checkpoint.ts";
import {
  createJournalKeys,
  readSigningKey,
  type SigningKey,
} from "../../../src/journal/checkpoints/signed-note.ts";
import { parseEntry } from "../../../src/journal/line/entry.ts";
import type { ContradictionKind } from "../../../src/journal/verify/report.ts";
import { countRecords, coveredCounts, digestOf, type JournalFiles, placeOf, rechain, TORN } from "./files.ts";
import type { Random } from "./random.ts";

/** What verifying must say about an edit. What changes no record is `sound`, with the number 0. */
export interface Expected {
  readonly kind: ContradictionKind | "sound";
  readonly seq: number;
  readonly through?: number;
}

/** Changes a journal in place, and returns what must be found. */
export type Edit = (journal: JournalFiles, random: Random, key: SigningKey) => Expected;

/** Every way in which a journal is edited, by its name. */
export const EDITS: Readonly<Record<string, Edit>> = {
  "flip a bit": flip,
  "drop a record": drop,
  "swap two records": swap,
  "insert a copy of a record": insertCopy,
  "insert a record that fits": insertFitting,
  "insert a text": insertText,
  "cut the tail": cut,
  "cut the tail and its checkpoints": cutAll,
  "write the chain anew": fork,
  "swap two files": swapFiles,
  "sign with another key": otherKey,
  "write anew and sign with another key": forkWithOtherKey,
  "set the clock back": setBack,
};

function flip(journal: JournalFiles, random: Random): Expected {
  const count = countRecords(journal);
  const seq = random.from(1, count);
  const { lines, index } = placeOf(journal, seq);
  const line = lines[index] ?? "";
  // The position after the line is its newline.
  const at = random.from(0, line.length);
  const bit = 1 << random.from(0, 7);
  if (at === line.length) {
    const separator = String.fromCharCode(0x0a ^ bit);
    if (index === lines.length - 1) {
      lines[index] = `${line}${separator}${TORN}`;
      return seq === count ? { kind: "cut", seq } : { kind: "unreadable", seq };
    }
    lines.splice(index, 2, `${line}${separator}${lines[index + 1]}`);
    return { kind: "unreadable", seq };
  }
  const flipped = `${line.slice(0, at)}${String.fromCharCode(line.charCodeAt(at) ^ bit)}${line.slice(at + 1)}`;
  lines[index] = flipped;
  const entry = parseEntry(Buffer.from(flipped, "latin1").toString());
  if (entry === undefined) return { kind: "unreadable", seq };
  const original = parseEntry(line);
  const fits = entry.seq === seq && entry.prev === original?.prev && entry.at >= atOf(journal, seq - 1);
  // No record follows the last one: only the checkpoint tells that it is another.
  return seq === count && fits ? rewritten(journal, seq) : { kind: "changed", seq };
}

function atOf(journal: JournalFiles, seq: number): number {
  if (seq === 0) return 0;
  const { lines, index } = placeOf(journal, seq);
  return parseEntry(lines[index] ?? "")?.at ?? 0;
}

function rewritten(journal: JournalFiles, from: number): Expected {
  const counts = coveredCounts(journal);
  const seq = (counts.findLast((count) => count < from) ?? 0) + 1;
  const through = counts.find((count) => count >= from) ?? 0;
  return { kind: "rewritten", seq, ...(through > seq && { through }) };
}

function drop(journal: JournalFiles, random: Random): Expected {
  const count = countRecords(journal);
  const seq = random.from(1, count);
  const { lines, index } = placeOf(journal, seq);
  lines.splice(index, 1);
  return { kind: seq === count ? "cut" : "missing", seq };
}

function swap(journal: JournalFiles, random: Random): Expected {
  const count = countRecords(journal);
  const first = random.from(1, count - 1);
  const second = random.from(first + 1, count);
  const one = placeOf(journal, first);
  const other = placeOf(journal, second);
  const line = one.lines[one.index] ?? "";
  one.lines[one.index] = other.lines[other.index] ?? "";
  other.lines[other.index] = line;
  return { kind: "order", seq: first };
}

function insertCopy(journal: JournalFiles, random: Random): Expected {
  const count = countRecords(journal);
  const copied = random.from(1, count);
  const source = placeOf(journal, copied);
  const copy = source.lines[source.index] ?? "";
  const seq = random.from(1, count);
  const { lines, index } = placeOf(journal, seq);
  lines.splice(index, 0, copy);
  // It cannot be told which of two equal neighbours is the copy.
  return { kind: "inserted", seq: copied === seq ? seq + 1 : seq };
}

function insertFitting(journal: JournalFiles, random: Random): Expected {
  const seq = random.from(1, countRecords(journal));
  const { lines, index } = placeOf(journal, seq);
  const { at = 0, prev = "" } = parseEntry(lines[index] ?? "") ?? {};
  lines.splice(index, 0, `{"at":${at},"prev":"${prev}","seq":${seq},"type":"tool.call.ended"}`);
  return { kind: "inserted", seq };
}

function insertText(journal: JournalFiles, random: Random): Expected {
  const seq = random.from(1, countRecords(journal));
  const { lines, index } = placeOf(journal, seq);
  lines.splice(index, 0, random.pick(["", "{}", "[]", "null", '{"seq":1}', "\u00ff\u00fe", "{"]));
  return { kind: "inserted", seq };
}

function cut(journal: JournalFiles, random: Random): Expected {
  const count = countRecords(journal);
  const kept = random.from(0, count - 1);
  let left = kept;
  for (const file of journal.files) {
    file.lines = file.lines.slice(0, left);
    left -= file.lines.length;
  }
  return { kind: "cut", seq: kept + 1, ...(kept + 1 < count && { through: count }) };
}

function cutAll(journal: JournalFiles, random: Random): Expected {
  const expected = cut(journal, random);
  journal.notes.clear();
  return expected;
}

function fork(journal: JournalFiles, random: Random): Expected {
  const seq = random.from(1, countRecords(journal));
  const expected = rewritten(journal, seq);
  rewrite(journal, seq);
  return expected;
}

/** Changes a record, and all after it so that the chain holds. */
function rewrite(journal: JournalFiles, seq: number): void {
  const { lines, index } = placeOf(journal, seq);
  lines[index] = (lines[index] ?? "").replace(/\}$/, ',"zone":"forged"}');
  rechain(journal, seq + 1);
}

function swapFiles(journal: JournalFiles, random: Random): Expected {
  const first = random.from(0, journal.files.length - 2);
  const one = journal.files[first];
  const other = journal.files[random.from(first + 1, journal.files.length - 1)];
  if (one === undefined || other === undefined) throw new RangeError();
  const { lines } = one;
  one.lines = other.lines;
  other.lines = lines;
  return { kind: "file", seq: Number(one.name.slice("journal-".length, -".jsonl".length)) };
}

function otherKey(journal: JournalFiles, random: Random): Expected {
  return resign(journal, random.from(1, countRecords(journal)), anotherKey());
}

function forkWithOtherKey(journal: JournalFiles, random: Random): Expected {
  const seq = random.from(1, countRecords(journal));
  rewrite(journal, seq);
  return resign(journal, seq, anotherKey());
}

function anotherKey(): SigningKey {
  return readSigningKey(createJournalKeys("example.com/journal").signer);
}

/** Signs the checkpoints from a record on. */
function resign(journal: JournalFiles, from: number, key: SigningKey): Expected {
  let first = Number.POSITIVE_INFINITY;
  for (const [name, notes] of journal.notes) {
    const signed = notes.map((note) => {
      const records = Number(note.split("\n")[1]);
      if (records < from) return note;
      first = Math.min(first, records);
      return signCheckpoint(records, digestOf(journal, records), key);
    });
    journal.notes.set(name, signed);
  }
  return { kind: "key", seq: first };
}

/** Somebody who has the key sets the time of a record back. */
function setBack(journal: JournalFiles, random: Random, key: SigningKey): Expected {
  const seq = random.from(2, countRecords(journal));
  const { lines, index } = placeOf(journal, seq);
  const at = atOf(journal, seq - 1) - random.from(1, 1_000_000);
  lines[index] = (lines[index] ?? "").replace(/"at":\d+/, `"at":${at}`);
  rechain(journal, seq + 1);
  resign(journal, seq, key);
  return { kind: "clock", seq };
}
