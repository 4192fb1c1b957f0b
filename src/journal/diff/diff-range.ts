import type { JsonValue } from "../../json/value.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { isCallRecord, RecordedCalls, type UndecidableCause } from "../read/recorded-calls.ts";
import type { ComparedPolicies, Comparison } from "./compared-policies.ts";
import { type FileRange, linesOf } from "./file-ranges.ts";
import type { RecordedCall } from "./policy-diff.ts";
import { type Counts, countChange, countUndecidable, newCounts } from "./tally.ts";

/** How canonical records of the ends of calls end. Half of a journal need not be parsed. */
const END = Buffer.from('"type":"tool.call.ended"}');
/** The number of comparisons that are kept, since most journals have equal calls. */
const MAX_KEPT = 20_000;

/** Has two policies decide on the recorded calls of ranges. */
export class RangeDiff {
  readonly #policies: ComparedPolicies;
  /** By the directory. */
  readonly #journals = new Map<string, OpenedJournal>();
  /** The outcomes of earlier calls, by everything on which they depend. */
  readonly #kept = new Map<string, Comparison | UndecidableCause>();

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
        if (endsWith(bytes, END)) continue;
        const entry = parseEntry(bytes.toString());
        if (entry === undefined || !isCallRecord(entry)) continue;
        if (entry["decision"] === undefined) counts.undecided++;
        else this.#add(entry, journal, counts);
      }
    }
    return counts;
  }

  #add(entry: JournalEntry, journal: OpenedJournal, counts: Counts): void {
    const outcome = this.#outcomeOf(entry, journal);
    if (typeof outcome === "string") {
      countUndecidable(counts, outcome);
      return;
    }
    counts[outcome.changes.length === 0 ? "same" : "different"]++;
    for (const change of outcome.changes) {
      const { before, after } = outcome;
      countChange(counts, change, { before, after }, () => nameOf(entry, journal));
    }
  }

  #outcomeOf(entry: JournalEntry, journal: OpenedJournal): Comparison | UndecidableCause {
    const key = this.#keyOf(entry, journal);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const outcome = this.#decide(entry, journal);
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(key, outcome);
    return outcome;
  }

  #decide(entry: JournalEntry, { calls }: OpenedJournal): Comparison | UndecidableCause {
    const request = calls.requestOf(entry);
    if (typeof request === "string") return request;
    const comparison = this.#policies.compare(request, entry.at);
    return request.missing ?? comparison;
  }

  /** Everything on which a decision depends, and whether it can be made: the arguments as shown, and their digest. */
  #keyOf(entry: JournalEntry, { place }: OpenedJournal): string {
    const { args, argumentDigest, at, definitionDigest, principal, sealed, session } = entry;
    const parts: readonly (JsonValue | undefined)[] = [
      ...[place, definitionDigest, argumentDigest, args, principal, this.#policies.eraOf(at)],
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

/** A journal whose calls are decided again. */
interface OpenedJournal {
  readonly directory: string;
  /** Distinguishes it from others. */
  readonly place: number;
  readonly calls: RecordedCalls;
}

function endsWith(bytes: Buffer, end: Buffer): boolean {
  const from = bytes.length - end.length;
  return from >= 0 && bytes.compare(end, 0, end.length, from) === 0;
}

function nameOf(
  { seq, tool, tool_call_id: callId }: JournalEntry,
  { directory }: OpenedJournal,
): RecordedCall {
  return { directory, seq, callId: String(callId), tool: String(tool) };
}
