import type { CallLedger } from "./call-ledger.ts";
import type { ValueProvenance } from "./value-provenance.ts";

/**
 * What a session knows about the time before a call, for rules that depend on it. Conditions on a part that is absent
 * are unclear, so that an `allow` rule with such a condition allows nothing.
 */
export interface CallHistory {
  /** The user's words in this turn. Absent if the client did not pass them on. */
  readonly userText?: string | undefined;
  /** The earlier calls. Absent if they were not retained when the message of the call began. */
  readonly ledger?: CallLedger | undefined;
  /** Where values came from. Absent if the policy tracks no fields and no user's words. */
  readonly provenance?: ValueProvenance | undefined;
}
