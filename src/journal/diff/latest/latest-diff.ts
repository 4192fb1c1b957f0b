import type { DecisionChange } from "../../../policy/compare-decisions.ts";
import type { UndecidableCause } from "../../read/recorded-calls.ts";
import type { ComparedSources } from "../compared-policies.ts";

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
  /** The most calls. */
  readonly last: number;
  /** The most bytes of the journal that are read. */
  readonly maxBytes: number;
  /** The most changed calls that are listed. */
  readonly maxChanged: number;
}
