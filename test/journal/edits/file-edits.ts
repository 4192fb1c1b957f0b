import { parseEntry } from "../../../src/journal/line/entry.ts";
import type { Edit, Expected } from "./edits.ts";
import { countRecords, type JournalFiles, placeOf, rechain } from "./files.ts";
import type { Random } from "./random.ts";

const SOUND: Expected = { kind: "sound", seq: 0 };

/** Edits of whole files, of checkpoints, and of how a line is written. None needs copies of checkpoints to be found. */
export const FILE_EDITS: Readonly<Record<string, Edit>> = {
  "delete the newest files": deleteNewest,
  "delete a file before others": deleteEarlier,
  "empty the newest file": emptyNewest,
  "name a file otherwise": renameFile,
  "add a copy of a file": copyFile,
  "add the records of a file again": repeatFile,
  "join two files": joinFiles,
  "split a file": splitFile,
  "write a record in another way": reencode,
  "write a record in another way after the last checkpoint": reencodeUnsigned,
  "write the last record in another way after the last checkpoint": reencodeLastUnsigned,
  "repeat and reorder checkpoints": shuffleCheckpoints,
  "put checkpoints beside another file": moveCheckpoints,
  "change a checkpoint": changeCheckpoint,
  "add a text to the checkpoints": addToCheckpoints,
  "end the newest checkpoints in the middle of one": tearCheckpoints,
};

/** These are found without a key, too. */
export const WITHOUT_COPY_OR_KEY: readonly string[] = [
  "delete the newest files",
  "delete a file before others",
  "empty the newest file",
  "name a file otherwise",
  "add a copy of a file",
  "add the records of a file again",
  "join two files",
  "split a file",
  "write a record in another way after the last checkpoint",
  "write the last record in another way after the last checkpoint",
  "repeat and reorder checkpoints",
  "put checkpoints beside another file",
  "add a text to the checkpoints",
  "end the newest checkpoints in the middle of one",
];

function firstOf({ name }: JournalFiles["files"][number]): number {
  return Number(name.slice("journal-".length, -".jsonl".length));
}

function nameOf(firstSeq: number): string {
  return `journal-${String(firstSeq).padStart(16, "0")}.jsonl`;
}

function fileAt({ files }: JournalFiles, index: number): JournalFiles["files"][number] {
  const file = files.at(index);
  if (file === undefined) throw new RangeError(`there is no file ${index}`);
  return file;
}

function deleteNewest(journal: JournalFiles, random: Random): Expected {
  const through = countRecords(journal);
  const deleted = journal.files.splice(random.from(0, journal.files.length - 1));
  const seq = firstOf(deleted[0] ?? fileAt(journal, 0));
  // Without a key and without a file, the checkpoints alone say it.
  return { kind: "cut", seq, through };
}

function deleteEarlier(journal: JournalFiles, random: Random): Expected {
  const index = random.from(0, journal.files.length - 2);
  const [deleted] = journal.files.splice(index, 1);
  if (deleted === undefined) throw new RangeError();
  const seq = firstOf(deleted);
  return { kind: "missing", seq, through: seq + deleted.lines.length - 1 };
}

function emptyNewest(journal: JournalFiles): Expected {
  const through = countRecords(journal);
  const file = fileAt(journal, -1);
  file.lines = [];
  return { kind: "cut", seq: firstOf(file), ...(through > firstOf(file) && { through }) };
}

/** Its checkpoints are named after it. */
function renameFile(journal: JournalFiles, random: Random): Expected {
  const index = random.from(0, journal.files.length - 1);
  const file = fileAt(journal, index);
  const seq = firstOf(file);
  const name = nameOf(seq + random.from(1, Math.max(file.lines.length - 1, 1)));
  journal.files.splice(index, 1, { name, lines: file.lines });
  journal.notes.set(name, journal.notes.get(file.name) ?? []);
  journal.notes.delete(file.name);
  return { kind: "file", seq };
}

function copyFile(journal: JournalFiles, random: Random): Expected {
  const seq = countRecords(journal) + 1;
  const copied = fileAt(journal, random.from(0, journal.files.length - 1));
  journal.files.push({ name: nameOf(seq), lines: [...copied.lines] });
  return { kind: "file", seq };
}

function repeatFile(journal: JournalFiles, random: Random): Expected {
  const seq = countRecords(journal) + 1;
  // The last one would stand behind itself, and look like one line that stands twice if it has only one.
  const { lines } = fileAt(journal, random.from(0, journal.files.length - 2));
  fileAt(journal, -1).lines.push(...lines);
  return { kind: "inserted", seq };
}

function joinFiles(journal: JournalFiles, random: Random): Expected {
  const index = random.from(0, journal.files.length - 2);
  const [joined] = journal.files.splice(index + 1, 1);
  if (joined === undefined) throw new RangeError();
  fileAt(journal, index).lines.push(...joined.lines);
  // Its checkpoints are still there.
  return { kind: "file", seq: firstOf(joined) };
}

function splitFile(journal: JournalFiles, random: Random): Expected {
  const long = journal.files.filter(({ lines }) => lines.length > 1);
  const file = random.pick(long);
  const index = journal.files.indexOf(file);
  const at = random.from(1, file.lines.length - 1);
  const seq = firstOf(file) + at;
  journal.files.splice(index + 1, 0, { name: nameOf(seq), lines: file.lines.splice(at) });
  return { kind: "file", seq };
}

/** Writes the same record in another way. Each character of a line stands for a byte. */
function inAnotherWay(line: string, random: Random): string {
  const entry = parseEntry(Buffer.from(line, "latin1").toString()) ?? {};
  const members = Object.entries(entry);
  const [name = "", value] = random.pick(members);
  const reversed = JSON.stringify(Object.fromEntries([...members].reverse()));
  return random.pick([
    line.replace('"seq":', '"seq": '),
    `{ ${line.slice(1)}`,
    line.replace('"type"', '"typ\\u0065"'),
    line.replace(/"seq":(\d+)/, '"seq":$1.0'),
    line.replace(/"at":(\d+)/, '"at":$1e0'),
    `{"at":0,${line.slice(1)}`,
    `{"seq":1,${line.slice(1)}`,
    `${line.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`,
    Buffer.from(reversed).toString("latin1"),
    line.replace('"type"', '"a\u00ff":1,"type"'),
    line.replace(/\}$/, ',"z":"\u00ed\u00a0\u0080"}'),
    line.replace(/\}$/, ',"z":"\\ud800"}'),
    line.replace(/\}$/, ',"z":"\\/"}'),
    line.replace(/\}$/, ',"z":-0}'),
    line.replace(/\}$/, ',"z":1E400}'),
    line.replace(/\}$/, ',"z":{"b":1,"a":2}}'),
    line.replace(/\}$/, ',"z":{"2":1,"10":2}}'),
    line.replace(/\}$/, ',"z":[{"a":1,"a":1}]}'),
  ]);
}

function reencode(journal: JournalFiles, random: Random): Expected {
  const seq = random.from(1, countRecords(journal) - 1);
  const { lines, index } = placeOf(journal, seq);
  lines[index] = inAnotherWay(lines[index] ?? "", random);
  return { kind: "changed", seq };
}

/** As somebody does who writes the chain anew before the records were signed. */
function reencodeUnsigned(journal: JournalFiles, random: Random): Expected {
  return reencodeAt(journal, random.from(1, countRecords(journal)), random);
}

function reencodeLastUnsigned(journal: JournalFiles, random: Random): Expected {
  return reencodeAt(journal, countRecords(journal), random);
}

function reencodeAt(journal: JournalFiles, seq: number, random: Random): Expected {
  const { lines, index } = placeOf(journal, seq);
  lines[index] = inAnotherWay(lines[index] ?? "", random);
  rechain(journal, seq + 1);
  for (const [name, notes] of journal.notes) {
    journal.notes.set(
      name,
      notes.filter((note) => Number(note.split("\n")[1]) < seq),
    );
  }
  return { kind: "unreadable", seq };
}

function shuffleCheckpoints(journal: JournalFiles): Expected {
  for (const [name, notes] of journal.notes) journal.notes.set(name, [...notes, ...notes].reverse());
  return SOUND;
}

function moveCheckpoints(journal: JournalFiles): Expected {
  const [first = "", ...others] = journal.notes.keys();
  const all = [...journal.notes.values()].flat();
  for (const name of others) journal.notes.set(name, []);
  journal.notes.set(first, all);
  return SOUND;
}

function changeCheckpoint(journal: JournalFiles, random: Random): Expected {
  const [name, notes] = random.pick([...journal.notes].filter(([, each]) => each.length > 0));
  const index = random.from(0, notes.length - 1);
  const records = Number(notes[index]?.split("\n")[1]);
  const changed = notes.map((note, at) => {
    if (at !== index) return note;
    return random.pick([
      () => note.replace(/\n\d+\n/, `\n${records + 1}\n`),
      () =>
        note.replace(
          /\n([A-Za-z0-9+/])([A-Za-z0-9+/]{42}=)\n/,
          (_, a, b) => `\n${a === "A" ? "B" : "A"}${b}\n`,
        ),
    ])();
  });
  journal.notes.set(name, changed);
  return { kind: "forged", seq: Number(changed[index]?.split("\n")[1]) };
}

function addToCheckpoints(journal: JournalFiles, random: Random): Expected {
  const [name, notes] = random.pick([...journal.notes].filter(([, each]) => each.length > 0));
  const last = Number(notes.at(-1)?.split("\n")[1]);
  journal.notes.set(name, [
    ...notes,
    "example.com/journal\nmany\nof them\n\n— example.com/journal AAAAAAAA\n",
  ]);
  return { kind: "forged", seq: last + 1 };
}

/** As a crash leaves it. */
function tearCheckpoints(journal: JournalFiles, random: Random): Expected {
  const [name = ""] = [...journal.notes.keys()].slice(-1);
  const notes = journal.notes.get(name) ?? [];
  const torn = notes.at(-1) ?? "";
  journal.notes.set(name, [...notes, torn.slice(0, random.from(1, torn.lastIndexOf("—")))]);
  return SOUND;
}
