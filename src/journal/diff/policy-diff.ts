import type { DecisionChange } from "../../policy/compare-decisions.ts";
import type { UndecidableCause } from "../read/recorded-calls.ts";

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
  readonly witness: RecordedCall;
}

/** Where a call is recorded. */
export interface RecordedCall {
  /** The directory of the journal. */
  readonly directory: string;
  /** The number of the record. */
  readonly seq: number;
  readonly callId: string;
  readonly tool: string;
}
