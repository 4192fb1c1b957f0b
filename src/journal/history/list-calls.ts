import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { isCallRecord } from "../read/recorded-calls.ts";
import { backwardLines } from "../storage/backward-lines.ts";
import { listFiles } from "../storage/file-names.ts";
import { CallEnds } from "./call-ends.ts";
import { findRecord } from "./find-record.ts";
import { readOn } from "./read-on.ts";
import { type HistoryCall, type HistoryPage, type HistoryQuery, principalIn } from "./recorded-history.ts";

/** The most bytes that are read for a page. They are parsed in this thread, a quarter of a megabyte at a time. */
const MAX_BYTES = 8_388_608;
/** The most bytes behind a page that are read for the ends of its calls. */
const MAX_BYTES_BEHIND = 4_194_304;

/**
 * Lists calls, the latest first. It reads the journal backwards, and no more of it than a page may read.
 *
 * @throws {JournalError} if a file cannot be read.
 */
export async function listCalls(directory: string, query: HistoryQuery): Promise<HistoryPage> {
  const { before = Number.POSITIVE_INFINITY, limit, signal } = query;
  const ends = new CallEnds();
  let offset: number | undefined;
  let hasAllEnds = true;
  if (query.before !== undefined)
    offset = await readEnds(directory, query.before, ends, signal, () => {
      hasAllEnds = false;
    });
  const calls: HistoryCall[] = [];
  let last = before;
  let bytesRead = 0;
  const files = (await listFiles(directory)).filter(({ firstSeq }) => firstSeq < before);
  for (const { path, firstSeq } of files.reverse()) {
    for await (const lines of backwardLines(path, offset)) {
      signal?.throwIfAborted();
      for (const { bytes } of lines) {
        bytesRead += bytes.length;
        const entry = parseEntry(bytes.toString());
        // In a journal that is not in order, pages still have to get on.
        if (entry === undefined || entry.seq >= before) continue;
        last = Math.min(last, entry.seq);
        const call = follow(entry, ends, hasAllEnds);
        if (call === undefined || !isWanted(call, query)) continue;
        calls.push(call);
        if (calls.length === limit) return { calls, ...(last > 1 && { next: last }) };
      }
      if (bytesRead > MAX_BYTES) return { calls, next: last < before ? last : firstSeq };
    }
    offset = undefined;
  }
  return { calls };
}

/** Reads what comes after a page. Returns where the page ends in its file; `undefined` if that is the end of the file. */
async function readEnds(
  directory: string,
  before: number,
  ends: CallEnds,
  signal: AbortSignal | undefined,
  onCut: () => void,
): Promise<number | undefined> {
  const from = await findRecord(directory, before);
  if (from === undefined) return undefined;
  for await (const entries of readOn(directory, from, MAX_BYTES_BEHIND, signal, onCut))
    ends.readForwards(entries);
  // A page before the first record of a file ends with the file before that.
  return from.offset === 0 ? undefined : from.offset;
}

function follow(entry: JournalEntry, ends: CallEnds, hasAllEnds: boolean): HistoryCall | undefined {
  if (entry.type === "tool.call.ended") ends.add(entry);
  if (!isCallRecord(entry)) return undefined;
  if (entry.type !== "tool.call.dispatched") return { begin: entry };
  const end = ends.take(entry);
  if (end !== undefined) return { begin: entry, end };
  return hasAllEnds ? { begin: entry } : { begin: entry, isEndUnknown: true };
}

function isWanted({ begin, end }: HistoryCall, { tool, session, code, isVisible }: HistoryQuery): boolean {
  return (
    (tool === undefined || begin["tool"] === tool) &&
    (session === undefined || begin["session"] === session) &&
    (code === undefined || (end ?? begin)["code"] === code) &&
    isVisible(principalIn(begin))
  );
}
