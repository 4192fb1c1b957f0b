import type { ToolRegistry } from "../engine/registry.ts";
import type { JournalHistory } from "../journal/history/journal-history.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { CallRepeats } from "./history/call-repeats.ts";

/** What people can look at besides sessions. */
export interface Inspected {
  /** With the tools of today: a reload replaces them. */
  readonly registry: ToolRegistry;
  /** Hides secrets in what is shown. */
  readonly redaction: Redaction;
  /** `undefined` if there is no journal. */
  readonly history?: JournalHistory | undefined;
  /** Calls tools again. `undefined` if there is no journal. */
  readonly repeats?: CallRepeats | undefined;
}
