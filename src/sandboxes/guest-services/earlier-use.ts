import type { Traffic } from "../../egress/egress-error.ts";
import type { CallEffect } from "../contract/outcome.ts";

/** What requests did for a call before it was suspended. Those that were open are not counted. */
export interface EarlierUse {
  readonly nestedCalls: number;
  readonly effect: CallEffect;
  /** Absent if no HTTP request was sent. */
  readonly traffic?: Traffic | undefined;
}
