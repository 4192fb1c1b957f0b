import { DECISION_CHANGES, type DecisionChange } from "../../policy/compare-decisions.ts";
import type { UndecidableCause } from "../read/recorded-calls.ts";
import type { ComparedSources, Comparison } from "./compared-policies.ts";

/** How two policies differ in their decisions on the calls of journals. */
export interface PolicyDiff {
  /** The number of calls on which both policies decided the same. */
  readonly same: number;
  /** The number of calls on which they did not. Such a call can have several changes. */
  readonly different: number;
  /** Those that permit more come first, each kind with the most frequent first. */
  readonly changes: readonly ChangedCalls[];
  /** The number of calls on which no policy decided: they failed before. */
  readonly undecided: number;
  /** The number of calls that cannot be decided again, by the reason. */
  readonly undecidable: ReadonlyMap<UndecidableCause, number>;
}

/** The calls on which the decisions changed in one way, and because of the same rules. */
export interface ChangedCalls {
  readonly change: DecisionChange;
  /** The rules that the earlier policy names. None if no rule matched. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly count: number;
  /** The first of the calls. */
  readonly witness: CallLocation;
}

/** Where a call is recorded. */
export interface CallLocation {
  /** The directory of the journal. */
  readonly directory: string;
  /** The number of the record. */
  readonly seq: number;
  readonly callId: string;
  readonly tool: string;
}

/** What was counted in a range of a journal, as it is sent between threads. */
export interface Counts {
  same: number;
  different: number;
  undecided: number;
  readonly undecidable: Map<UndecidableCause, number>;
  /** By change and rules. The witness is the first call of the range. */
  readonly changes: Map<string, ChangedCalls & { count: number }>;
}

/** Returns counts of nothing. */
export function newCounts(): Counts {
  return { same: 0, different: 0, undecided: 0, undecidable: new Map(), changes: new Map() };
}

/** Counts a call whose decision changed. */
export function countChanges(
  { changes: counted }: Counts,
  { changes, before, after }: Comparison,
  witness: () => CallLocation,
): void {
  for (const { change, key } of changes) {
    const known = counted.get(key);
    if (known !== undefined) known.count++;
    else counted.set(key, { change, before, after, count: 1, witness: witness() });
  }
}

/** Counts a call that cannot be decided again. */
export function countUndecidable({ undecidable }: Counts, cause: UndecidableCause, calls = 1): void {
  undecidable.set(cause, (undecidable.get(cause) ?? 0) + calls);
}

/** Adds up the counts of ranges, which are in the order of the records. */
export function addUp(ranges: readonly Counts[]): PolicyDiff {
  const sum = newCounts();
  for (const { same, different, undecided, undecidable, changes } of ranges) {
    sum.same += same;
    sum.different += different;
    sum.undecided += undecided;
    for (const [cause, calls] of undecidable) countUndecidable(sum, cause, calls);
    for (const [key, changed] of changes) {
      const earlier = sum.changes.get(key);
      const count = changed.count + (earlier?.count ?? 0);
      sum.changes.set(key, { ...changed, ...(earlier && { witness: earlier.witness }), count });
    }
  }
  const order = Object.keys(DECISION_CHANGES);
  const changes = [...sum.changes.values()].sort(
    (a, b) => order.indexOf(a.change) - order.indexOf(b.change) || b.count - a.count,
  );
  return { ...sum, changes };
}

/** How two policies differ in their decisions on the latest calls of a journal. */
export interface LatestDiff {
  /** The number of calls on which both policies decided. */
  readonly compared: number;
  /** Of these, the number on which their decisions differ. */
  readonly different: number;
  /** The first of those, the latest call first. */
  readonly changed: readonly ChangedCall[];
  /** The number of calls on which no policy decided: they failed before. */
  readonly undecided: number;
  /** The number of calls that cannot be decided again, by the reason. */
  readonly undecidable: { readonly [Cause in UndecidableCause]?: number };
  /** Whether fewer calls were read than wanted, since the journal has many bytes for each. */
  readonly isCut: boolean;
}

/** A call on which two policies decide differently. */
export interface ChangedCall {
  /** The number of its record. */
  readonly seq: number;
  readonly tool: string;
  readonly before: "allow" | "ask" | "deny";
  readonly after: "allow" | "ask" | "deny";
  readonly changes: readonly DecisionChange[];
  /** The rules that the later policy names. None if no rule matched. */
  readonly rules: readonly string[];
}

/** What is compared. */
export interface LatestDiffOptions {
  /** Of the journal. */
  readonly directory: string;
  readonly sources: ComparedSources;
  /** Maximum number of calls. */
  readonly last: number;
  /** Maximum number of bytes of the journal that are read. */
  readonly maxBytes: number;
  /** Maximum number of changed calls that are listed. */
  readonly maxChanged: number;
}
