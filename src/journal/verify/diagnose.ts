import { loadCrypto } from "../../base/load-crypto.ts";
import { isCanonicalLine, type JournalEntry, parseEntry } from "../line/entry.ts";
import type { JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { type Break, beginsFile } from "./chain-check.ts";
import type { CheckpointCheck } from "./checkpoint-check.ts";
import type { JournalContradiction } from "./report.ts";

interface ReadLine {
  readonly entry: JournalEntry | undefined;
  readonly bytes: Buffer;
  readonly digest: string;
}

/**
 * Finds out what happened where a chain is broken: a line that was changed, for example, contradicts the line after
 * it, and a line that was inserted has a neighbour that continues the line before it.
 */
export async function diagnose(
  broken: Break,
  files: readonly JournalFileName[],
  checkpoints: CheckpointCheck | undefined,
): Promise<JournalContradiction> {
  const { before, secondBefore, expected, file } = broken;
  const [line, next] = await readLines(broken, files, 2);
  const entry = line?.entry;
  const found = (kind: JournalContradiction["kind"], seq: number, message: string, through = seq) => ({
    kind,
    seq,
    file: file.path,
    message,
    ...(through > seq && { through }),
  });
  const changed = (seq: number) => found("changed", seq, `record ${seq} was changed`);
  const inserted = (seq: number) => found("inserted", seq, `a record was inserted as record ${seq}`);
  const moved = (seq: number, after: number) =>
    found("order", seq, `record ${seq} stands after record ${after}`);
  const isElsewhere = (seq: number) => hasRecord(broken, files, seq);
  if (line === undefined || (entry === undefined && next?.entry?.prev !== before)) {
    return found("unreadable", expected, `the line of record ${expected} is no record`);
  }
  // A line that stands twice is inserted behind itself.
  if (entry === undefined || line.digest === before) return inserted(expected);
  const { path = file.path } = (broken.isFirst && files.find(({ firstSeq }) => firstSeq === entry.seq)) || {};
  if (path !== file.path && (next?.entry === undefined || next.entry.seq === entry.seq + 1)) {
    return found("file", expected, `the file has the records of '${path}'`);
  }
  if (next?.entry?.prev === before) {
    const isMoved = entry.seq > expected && !(await isElsewhere(entry.seq));
    return isMoved ? moved(expected, entry.seq) : inserted(expected);
  }
  if (entry.prev === before) {
    if (entry.seq !== expected || isIntact(line, next, expected, checkpoints) === false)
      return changed(expected);
    if (broken.isFirst && !beginsFile(entry, file))
      return found(
        "file",
        expected,
        `the file does not begin with record ${file.firstSeq}, or not as one that goes on`,
      );
    if (!isCanonicalLine(line.bytes, entry))
      return found("unreadable", expected, `the line of record ${expected} is not canonical JSON`);
    return found("clock", expected, `record ${expected} is earlier than the one before it`);
  }
  if (entry.prev === secondBefore) return inserted(expected - 1);
  if (entry.seq < expected) return inserted(expected);
  if (entry.seq > expected) {
    if (await isElsewhere(expected)) return moved(expected, entry.seq);
    return found("missing", expected, `records ${expected} to ${entry.seq - 1} are missing`, entry.seq - 1);
  }
  const isLineIntact = isIntact(line, next, expected, checkpoints);
  if (isLineIntact !== undefined) return changed(isLineIntact ? expected - 1 : expected);
  const isBeforeIntact = checkpoints?.agrees(expected - 1, before);
  if (isBeforeIntact !== undefined) return changed(isBeforeIntact ? expected : expected - 1);
  const message = `record ${expected - 1} or record ${expected} was changed`;
  return found("changed", expected - 1, message, expected);
}

/** Whether a line is the one that was written; `undefined` if neither the next line nor a checkpoint shows it. */
function isIntact(
  { digest }: ReadLine,
  next: ReadLine | undefined,
  seq: number,
  checkpoints: CheckpointCheck | undefined,
): boolean | undefined {
  return next?.entry?.seq === seq + 1 ? next.entry.prev === digest : checkpoints?.agrees(seq, digest);
}

async function readLines(from: Break, files: readonly JournalFileName[], count: number): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  for await (const line of linesFrom(from, files)) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}

/** Whether a record stands after the line that does not continue the chain. */
async function hasRecord(from: Break, files: readonly JournalFileName[], seq: number): Promise<boolean> {
  let isFirst = true;
  for await (const { entry } of linesFrom(from, files)) {
    if (!isFirst && entry?.seq === seq) return true;
    isFirst = false;
  }
  return false;
}

async function* linesFrom(
  { fileIndex, start, isTorn }: Break,
  files: readonly JournalFileName[],
): AsyncGenerator<ReadLine, void, undefined> {
  const { hash } = loadCrypto();
  if (isTorn) yield { entry: undefined, bytes: Buffer.alloc(0), digest: "" };
  for (const [index, { path }] of files.slice(fileIndex).entries()) {
    for await (const lines of new LineReader(path).batches(index === 0 ? start : 0)) {
      for (const { bytes } of lines)
        yield { entry: parseEntry(bytes.toString()), bytes, digest: hash("sha256", bytes) };
    }
  }
}
