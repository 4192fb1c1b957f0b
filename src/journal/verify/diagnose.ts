import { loadCrypto } from "../../base/load-crypto.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import type { JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import type { Break } from "./chain-check.ts";
import type { CheckpointCheck } from "./checkpoint-check.ts";
import type { JournalContradiction } from "./report.ts";

interface ReadLine {
  readonly entry: JournalEntry | undefined;
  readonly digest: string;
}

/**
 * Finds out what happened where a chain does not hold: a line that was changed, for example, contradicts the line after
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
    ...{ kind, seq, file: file.path, message },
    ...(through > seq && { through }),
  });
  const changed = (seq: number) => found("changed", seq, `record ${seq} was changed`);
  const inserted = (seq: number) => found("inserted", seq, `a record was inserted as record ${seq}`);
  const other = broken.isFirst && files.find(({ firstSeq }) => firstSeq === entry?.seq);
  if (other && other.path !== file.path) {
    return found("file", expected, `the file has the records of '${other.path}'`);
  }
  if (next?.entry?.prev === before) return inserted(expected);
  if (entry === undefined)
    return found("unreadable", expected, `the line of record ${expected} is no record`);
  if (entry.prev === before) {
    if (entry.seq !== expected || isContradicted(line, next)) return changed(expected);
    return found("clock", expected, `record ${expected} is earlier than the one before it`);
  }
  if (entry.prev === secondBefore) return inserted(expected - 1);
  if (entry.seq > expected) {
    return (await hasRecord(broken, files, expected))
      ? found("order", expected, `record ${expected} stands after record ${entry.seq}`)
      : found("missing", expected, `records ${expected} to ${entry.seq - 1} are missing`, entry.seq - 1);
  }
  if (entry.seq < expected)
    return found("order", expected, `record ${entry.seq} stands after record ${expected - 1}`);
  return whichChanged(broken, line, next, checkpoints) ?? changedEither();

  function whichChanged(
    { before: digestBefore }: Break,
    here: ReadLine | undefined,
    after: ReadLine | undefined,
    known: CheckpointCheck | undefined,
  ): JournalContradiction | undefined {
    const isIntact =
      after?.entry?.seq === expected + 1
        ? after.entry.prev === here?.digest
        : known?.agrees(expected, here?.digest ?? "");
    if (isIntact !== undefined) return changed(isIntact ? expected - 1 : expected);
    const isBeforeIntact = known?.agrees(expected - 1, digestBefore);
    return isBeforeIntact === undefined ? undefined : changed(isBeforeIntact ? expected : expected - 1);
  }

  function changedEither(): JournalContradiction {
    const message = `record ${expected - 1} or record ${expected} was changed`;
    return found("changed", expected - 1, message, expected);
  }
}

/** Whether the record after a line says that the line was another one. */
function isContradicted(line: ReadLine | undefined, next: ReadLine | undefined): boolean {
  return next?.entry !== undefined && next.entry.prev !== line?.digest;
}

async function readLines(from: Break, files: readonly JournalFileName[], count: number): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  for await (const line of linesFrom(from, files)) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}

async function hasRecord(from: Break, files: readonly JournalFileName[], seq: number): Promise<boolean> {
  for await (const { entry } of linesFrom(from, files)) if (entry?.seq === seq) return true;
  return false;
}

async function* linesFrom(
  { fileIndex, start }: Break,
  files: readonly JournalFileName[],
): AsyncGenerator<ReadLine, void, undefined> {
  const { hash } = loadCrypto();
  for (const [index, { path }] of files.slice(fileIndex).entries()) {
    for await (const lines of new LineReader(path).batches(index === 0 ? start : 0)) {
      for (const { bytes } of lines)
        yield { entry: parseEntry(bytes.toString()), digest: hash("sha256", bytes) };
    }
  }
}
