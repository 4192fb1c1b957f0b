import { namesIn } from "../line/call-parts.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { type JournalPosition, readJournal } from "../read/read-journal.ts";
import {
  answerIn,
  type CallOutcome,
  isQuick,
  limitIn,
  outcomeIn,
  principalIn,
  rulesIn,
  sandboxIn,
} from "../read/record-members.ts";
import { isCallRecord } from "../read/recorded-calls.ts";
import { listFiles } from "../storage/file-names.ts";
import { backwardLines } from "../storage/line-reader.ts";
import { findRecord, findTime } from "./find-record.ts";

/** A call as a journal has it. */
export interface HistoryCall {
  /** The record of the call that was about to run, or did not run: its type is `tool.call.dispatched` or `tool.call.denied`. */
  readonly begin: JournalEntry;
  /** Absent if the call did not run, still runs, or ended far behind its begin. */
  readonly end?: JournalEntry;
  /** Set if the end was not looked for everywhere, since it can be far behind the begin. */
  readonly isEndUnknown?: true;
}

/** Which calls are listed. */
export interface HistoryQuery {
  /** Only calls whose record has a lower number. Default: all. */
  readonly before?: number | undefined;
  /** Maximum number of calls. */
  readonly limit: number;
  /** Only calls of this tool, this session, or that ended with this code. Default: all. */
  readonly tool?: string | undefined;
  readonly session?: string | undefined;
  readonly code?: string | undefined;
  /** Only calls that ended so. Default: all, including those that have not ended. */
  readonly outcome?: CallOutcome | undefined;
  /** Only calls whose decision this rule led to, or that were granted this sandbox. Default: all. */
  readonly rule?: string | undefined;
  readonly sandbox?: string | undefined;
  /** Only calls that reached this limit, such as `wallTimeMs`. Default: all. */
  readonly reached?: string | undefined;
  /** Whether a rule led to the decision. Default: all. */
  readonly isRuled?: boolean | undefined;
  /** Only calls about which a person was asked, and answered so. Default: all. */
  readonly answer?: AnswerFilter | undefined;
  /** Only calls that this person allowed or denied. Default: all. */
  readonly answeredBy?: string | undefined;
  /** Only calls from this time on, and before that one, in milliseconds since the epoch. Default: all. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only calls of principals for which it returns true; `undefined` stands for calls without a principal. */
  readonly isVisible: (principal: string | undefined) => boolean;
  /** How names are shown. A name is wanted even if it is shown as the query has it. Default: as they are. */
  readonly shown?: ((name: string) => string) | undefined;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

/** Calls, the latest first. */
export interface HistoryPage {
  readonly calls: readonly HistoryCall[];
  /**
   * The `before` of the next page, even if this one is empty: a page ends when enough of the journal was
   * read.
   */
  readonly next?: number;
}

/** Calls about which a person was asked: all of them, those allowed, those denied, and those allowed within 2 s. */
type AnswerFilter = "any" | "allow" | "deny" | "quick";

/** The records of ends whose calls are looked for. */
class CallEnds {
  /** By the names of the call, the first end last. Calls can have the same names, one after the other. */
  readonly #ends = new Map<string, JournalEntry[]>();
  /** The calls that began in what was read forwards, and have not ended there. */
  readonly #begun = new Map<string, number>();

  /** Takes records that come after the calls, in the order of the journal. */
  readForwards(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      const key = keyOf(entry);
      const begun = this.#begun.get(key) ?? 0;
      if (entry.type === "tool.call.dispatched") this.#begun.set(key, begun + 1);
      else if (entry.type !== "tool.call.ended") continue;
      else if (begun > 0) this.#begun.set(key, begun - 1);
      else this.#ends.set(key, [entry, ...(this.#ends.get(key) ?? [])]);
    }
  }

  /** Takes an end when records are read backwards, before its call. */
  add(end: JournalEntry): void {
    const key = keyOf(end);
    const ends = this.#ends.get(key);
    if (ends === undefined) this.#ends.set(key, [end]);
    else ends.push(end);
  }

  /** Returns the end of a call, once; `undefined` if it was not read. */
  take(begin: JournalEntry): JournalEntry | undefined {
    const key = keyOf(begin);
    const ends = this.#ends.get(key);
    const end = ends?.pop();
    if (ends?.length === 0) this.#ends.delete(key);
    return end;
  }
}

/**
 * Maximum number of bytes that are read for a page. They are parsed in this thread, a quarter of a megabyte
 * at a time.
 */
const MAX_BYTES = 8_388_608;
/** Maximum number of bytes behind a page that are read for the ends of its calls. */
const MAX_BYTES_BEHIND = 4_194_304;

/**
 * Lists calls, the latest first. It reads the journal backwards, and no more of it than a page may read.
 *
 * @throws {JournalError} if a file cannot be read.
 */
export async function listCalls(directory: string, query: HistoryQuery): Promise<HistoryPage> {
  const { limit, since = 0, signal } = query;
  const before = query.before ?? (await firstAfter(directory, query.until)) ?? Number.POSITIVE_INFINITY;
  const ends = new CallEnds();
  let offset: number | undefined;
  let hasAllEnds = true;
  if (before !== Number.POSITIVE_INFINITY)
    offset = await readEnds(directory, before, ends, signal, () => {
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
        if (entry.at < since) return { calls };
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

/** Returns the number of the first record that is not before a time; `undefined` if none. */
async function firstAfter(directory: string, time: number | undefined): Promise<number | undefined> {
  return time === undefined ? undefined : (await findTime(directory, time))?.seq;
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

function isWanted({ begin, end }: HistoryCall, query: HistoryQuery): boolean {
  const { outcome, since = 0, until = Number.POSITIVE_INFINITY } = query;
  const last = end ?? begin;
  const isNamed = (name: string | undefined, recorded: unknown): boolean =>
    name === undefined ||
    recorded === name ||
    (typeof recorded === "string" && query.shown?.(recorded) === name);
  return (
    isNamed(query.tool, begin["tool"]) &&
    isNamed(query.session, begin["session"]) &&
    isNamed(query.code, last["code"]) &&
    (outcome === undefined || outcomeIn(last) === outcome) &&
    (query.rule === undefined || rulesIn(begin).some((rule) => isNamed(query.rule, rule))) &&
    isNamed(query.sandbox, sandboxIn(begin)) &&
    isNamed(query.reached, limitIn(last)) &&
    (query.isRuled === undefined || rulesIn(begin).length > 0 === query.isRuled) &&
    isAnswered(begin, query.answer) &&
    isNamed(query.answeredBy, answerIn(begin)?.by) &&
    begin.at >= since &&
    begin.at < until &&
    query.isVisible(principalIn(begin))
  );
}

function isAnswered(begin: JournalEntry, filter: HistoryQuery["answer"]): boolean {
  if (filter === undefined) return true;
  const answer = answerIn(begin);
  if (answer === undefined) return filter === "any" && begin["code"] === "confirmation_timeout";
  if (filter === "quick") return isQuick(answer);
  return filter === "any" || (filter === "allow") === answer.isAllowed;
}

/**
 * Reads the records from a position on, in batches, until so many bytes were read.
 *
 * @param signal Ends the reading with its reason.
 * @param onCut Called if there may be more records than were read.
 * @throws {JournalError} if a file cannot be read.
 */
export async function* readOn(
  directory: string,
  from: JournalPosition,
  maxBytes: number,
  signal: AbortSignal | undefined,
  onCut: () => void = () => {},
): AsyncGenerator<readonly JournalEntry[], void, undefined> {
  let [at, left] = [from, maxBytes];
  for await (const { entries, next } of readJournal(directory, from)) {
    signal?.throwIfAborted();
    yield entries;
    left -= next.file === at.file ? next.offset - at.offset : next.offset;
    if (left <= 0) {
      onCut();
      return;
    }
    at = next;
  }
}

/** Whether a record is the end of a call. Other calls can have the same names, before and after it. */
export function isEndOf(end: JournalEntry, begin: JournalEntry): boolean {
  return end.type === "tool.call.ended" && end.seq > begin.seq && keyOf(end) === keyOf(begin);
}

function keyOf(entry: JournalEntry): string {
  const { session, turn, message, tool_call_id: callId, tool } = namesIn(entry);
  return JSON.stringify([session, turn, message, callId, tool]);
}
