import { loadCrypto } from "../../base/load-crypto.ts";
import { canonicalText } from "../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import {
  decidedAt,
  isCallRecord,
  RecordedCalls,
  type RecordedRequest,
  type UndecidableCause,
} from "../read/recorded-calls.ts";
import type { ComparedPolicies, Comparison } from "./compared-policies.ts";
import { type FileRange, linesOf } from "./file-ranges.ts";
import { type CallLocation, type Counts, countChanges, countUndecidable, newCounts } from "./policy-diff.ts";

/** What a decision on a recorded call depends on, cut out of the line of its record. */
export interface CallLine {
  /** The time of the decision, in milliseconds since the epoch. */
  readonly at: number;
  /** What is between `args` and the name of the next member. It is JSON text if the record is not forged. */
  readonly args: string;
  readonly argumentDigest: string;
  readonly definitionDigest: string;
  readonly principal: JsonObject | undefined;
  /** Canonical JSON; the empty string if there is no principal. */
  readonly principalText: string;
}

/** How canonical records of calls begin and end. */
const START = '{"args":';
const ENDS = ['"type":"tool.call.dispatched"}', '"type":"tool.call.denied"}'] as const;
const DIGEST_NAME = ',"argumentDigest":"';
const TIME_NAME = ',"decidedAt":';
const AT_NAME = '","at":';
const PREV_NAME = ',"prev":"';
const SEQ_NAME = ',"seq":';
const DIGEST_LENGTH = 64;
/** The number of different parts of records that are retained parsed. */
const MAX_CACHED = 2_000;

/**
 * Cuts lines at the names of members, since parsing a whole record takes five times as long. The names of members are in
 * canonical order. What is between `at` and `prev`, and between `prev` and `seq`, is the same in many records, and is
 * parsed once.
 */
export class CallLineReader {
  readonly #decided = new Map<string, Decided | undefined>();
  readonly #callers = new Map<string, Caller | undefined>();

  /** Returns `undefined` if the line has to be parsed: it has another form, or its arguments are sealed. */
  read(line: string): CallLine | undefined {
    if (!line.startsWith(START) || !ENDS.some((end) => line.endsWith(end))) return undefined;
    const argsEnd = line.indexOf(DIGEST_NAME, START.length);
    const digestStart = argsEnd + DIGEST_NAME.length;
    const digestEnd = digestStart + DIGEST_LENGTH;
    if (argsEnd < 0 || !line.startsWith(AT_NAME, digestEnd)) return undefined;
    const atStart = digestEnd + AT_NAME.length;
    const atEnd = line.indexOf(",", atStart);
    const at = Number(line.slice(atStart, atEnd));
    const decidedStart = line.startsWith(TIME_NAME, atEnd) ? atEnd + TIME_NAME.length : undefined;
    const decidedEnd = decidedStart === undefined ? atEnd : line.indexOf(",", decidedStart);
    const decidedAt = decidedStart === undefined ? at : Number(line.slice(decidedStart, decidedEnd));
    const prev = line.indexOf(PREV_NAME, decidedEnd);
    const prevEnd = prev + PREV_NAME.length + DIGEST_LENGTH + 1;
    const seq = line.indexOf(SEQ_NAME, prevEnd);
    if (prev < 0 || seq < 0 || !Number.isSafeInteger(at) || !Number.isSafeInteger(decidedAt))
      return undefined;
    const decided = cached(this.#decided, line.slice(decidedEnd + 1, prev), readDecided);
    const caller = cached(this.#callers, line.slice(prevEnd + 1, seq), readCaller);
    if (decided === undefined || caller === undefined) return undefined;
    const { definitionDigest } = decided;
    const { principal, principalText } = caller;
    const [args, argumentDigest] = [line.slice(START.length, argsEnd), line.slice(digestStart, digestEnd)];
    return { at: decidedAt, args, argumentDigest, definitionDigest, principal, principalText };
  }
}

type Decided = Pick<CallLine, "definitionDigest">;
type Caller = Pick<CallLine, "principal" | "principalText">;

function readDecided({ decidedAt, decision, definitionDigest }: JsonObject): Decided | undefined {
  // The time stands elsewhere in records of calls that were denied or confirmed.
  if (decidedAt !== undefined) return undefined;
  return decision === undefined || typeof definitionDigest !== "string" ? undefined : { definitionDigest };
}

function readCaller({ principal, sealed }: JsonObject): Caller | undefined {
  if (sealed !== undefined) return undefined;
  if (principal === undefined) return { principal, principalText: "" };
  return isJsonObject(principal) ? { principal, principalText: canonicalText(principal) } : undefined;
}

/** Reads members, unless equal ones were read before. */
function cached<Read>(
  all: Map<string, Read | undefined>,
  members: string,
  read: (parsed: JsonObject) => Read | undefined,
): Read | undefined {
  const known = all.get(members);
  if (known !== undefined || all.has(members)) return known;
  if (all.size >= MAX_CACHED) all.clear();
  const parsed = parseText(`{${members}}`);
  const found = parsed !== undefined && isJsonObject(parsed) ? read(parsed) : undefined;
  all.set(members, found);
  return found;
}

/** Returns `undefined` if a text is not JSON. */
export function parseText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The number of outcomes that are retained, since most journals have equal calls. */
const MAX_KEPT = 10_000;

/**
 * One in this many calls must be equal to an earlier one, or keeping outcomes takes longer than deciding
 * again.
 */
const RARE = 10;

/** Outcomes of earlier calls by everything on which they depend, as long as equal calls are frequent enough. */
class OutcomeCache<Outcome> {
  readonly #outcomes = new Map<string, Outcome>();
  #found = 0;
  #isUseful = true;

  /** Whether equal calls were frequent so far, so that making a key is worth while. */
  get isUseful(): boolean {
    return this.#isUseful;
  }

  get(key: string): Outcome | undefined {
    const outcome = this.#outcomes.get(key);
    if (outcome !== undefined) this.#found++;
    return outcome;
  }

  set(key: string, outcome: Outcome): void {
    if (this.#outcomes.size >= MAX_KEPT) {
      this.#outcomes.clear();
      this.#isUseful = this.#found * RARE >= MAX_KEPT;
      this.#found = 0;
    }
    this.#outcomes.set(key, outcome);
  }
}

const { hash } = loadCrypto();

/** How canonical records of the ends of calls end. Half of a journal need not be parsed. */
const END = Buffer.from('"type":"tool.call.ended"}');

/** Decides by two policies on the recorded calls of ranges. */
export class RangeDiff {
  readonly #policies: ComparedPolicies;
  /** By the directory. */
  readonly #journals = new Map<string, OpenedJournal>();
  readonly #outcomes = new OutcomeCache<Outcome>();
  readonly #lines = new CallLineReader();

  constructor(policies: ComparedPolicies) {
    this.#policies = policies;
  }

  /**
   * Decides on the calls of a range.
   *
   * @throws {JournalError} if a file of the journal cannot be read.
   */
  async count(range: FileRange): Promise<Counts> {
    const counts = newCounts();
    const journal = await this.#journalIn(range.directory);
    for await (const lines of linesOf(range)) {
      for (const { bytes } of lines) {
        if (!endsWith(bytes, END)) this.#tryLine(bytes.toString(), journal, counts);
      }
    }
    return counts;
  }

  #tryLine(line: string, journal: OpenedJournal, counts: Counts): void {
    try {
      this.#countLine(line, journal, counts);
    } catch (error) {
      // The stack overflows on forged arguments that are deeper than those of any call.
      if (!(error instanceof RangeError)) throw error;
      countUndecidable(counts, "no valid record");
    }
  }

  #countLine(line: string, journal: OpenedJournal, counts: Counts): void {
    const call = this.#policies.dependOnSession ? undefined : this.#lines.read(line);
    const outcome = call && this.#outcomeOfLine(call, journal);
    if (outcome !== undefined) {
      add(outcome, counts, () => nameOf(parseEntry(line), journal));
      return;
    }
    const entry = parseEntry(line);
    if (entry === undefined) countUndecidable(counts, "no valid record");
    else if (!isCallRecord(entry)) return;
    else if (entry["decision"] === undefined) counts.undecided++;
    else add(this.#outcomeOf(entry, journal), counts, () => nameOf(entry, journal));
  }

  /** Returns `undefined` if the record has to be parsed. */
  #outcomeOfLine(call: CallLine, journal: OpenedJournal): Outcome | undefined {
    if (!this.#outcomes.isUseful) return this.#decideLine(call, journal);
    const { args, argumentDigest, at, definitionDigest, principalText } = call;
    const era = this.#policies.eraOf(at);
    const key = `${journal.place} ${era} ${definitionDigest}${argumentDigest}${principalText}${args}`;
    const known = this.#outcomes.get(key);
    if (known !== undefined) return known;
    const outcome = this.#decideLine(call, journal);
    if (outcome !== undefined) this.#outcomes.set(key, outcome);
    return outcome;
  }

  #decideLine(
    { args, argumentDigest, at, ...call }: CallLine,
    { calls }: OpenedJournal,
  ): Outcome | undefined {
    if (hash("sha256", args) !== argumentDigest) return undefined;
    const input = parseText(args);
    // The name of the next member also stands in the arguments.
    return input === undefined ? undefined : this.#decide(calls.requestFor({ ...call, input }), at);
  }

  #outcomeOf(entry: JournalEntry, journal: OpenedJournal): Outcome {
    const key = this.#keyOf(entry, journal);
    const known = this.#outcomes.get(key);
    if (known !== undefined) return known;
    const outcome = this.#decide(journal.calls.requestOf(entry), decidedAt(entry));
    this.#outcomes.set(key, outcome);
    return outcome;
  }

  #decide(request: RecordedRequest | UndecidableCause, at: number): Outcome {
    if (typeof request === "string") return request;
    const comparison = this.#policies.compare(request, at);
    return request.missing ?? comparison;
  }

  /** Everything on which a decision depends, and whether it can be made: the arguments as shown, and their digest. */
  #keyOf(entry: JournalEntry, { place }: OpenedJournal): string {
    const { args, argumentDigest, definitionDigest, principal, sealed, session } = entry;
    const parts: readonly (JsonValue | undefined)[] = [
      place,
      definitionDigest,
      argumentDigest,
      args,
      principal,
      this.#policies.eraOf(decidedAt(entry)),
      // The key that opens sealed arguments is that of a session.
      ...(sealed === undefined && !this.#policies.dependOnSession ? [] : [sealed, session]),
    ];
    return JSON.stringify(parts);
  }

  async #journalIn(directory: string): Promise<OpenedJournal> {
    let journal = this.#journals.get(directory);
    if (journal === undefined) {
      journal = { directory, place: this.#journals.size, calls: await RecordedCalls.open(directory) };
      this.#journals.set(directory, journal);
    }
    return journal;
  }
}

type Outcome = Comparison | UndecidableCause;

function add(outcome: Outcome, counts: Counts, witness: () => CallLocation): void {
  if (typeof outcome === "string") {
    countUndecidable(counts, outcome);
    return;
  }
  counts[outcome.changes.length === 0 ? "same" : "different"]++;
  countChanges(counts, outcome, witness);
}

/** A journal whose calls are decided again. */
interface OpenedJournal {
  readonly directory: string;
  /** Identifies it among all journals. */
  readonly place: number;
  readonly calls: RecordedCalls;
}

function endsWith(bytes: Buffer, end: Buffer): boolean {
  const from = bytes.length - end.length;
  return from >= 0 && bytes.compare(end, 0, end.length, from) === 0;
}

function nameOf(entry: JournalEntry | undefined, { directory }: OpenedJournal): CallLocation {
  const { seq, tool, tool_call_id: callId } = entry as JournalEntry;
  return { directory, seq, callId: String(callId), tool: String(tool) };
}
