import { FairBudget } from "../../base/fair-budget.ts";

/** The most streams of events: fewer than the connections of a server. */
const MAX_STREAMS = 8_000;
/** The most streams of one client. */
const MAX_OWN_STREAMS = 2_000;
/** The streams that each client can have, even if others have them all. */
const MIN_STREAMS = 16;
/** The most bytes of events and responses that clients have not read. */
const MAX_UNREAD_BYTES = 128 * 1_024 * 1_024;
const MIN_UNREAD_BYTES = 4 * 1_024 * 1_024;

/** What streams of events and responses may take up, by the names of clients. */
export class StreamRoom {
  readonly streams: FairBudget = new FairBudget(MAX_STREAMS, MIN_STREAMS, MAX_OWN_STREAMS);
  readonly unread: FairBudget = new FairBudget(MAX_UNREAD_BYTES, MIN_UNREAD_BYTES, MAX_UNREAD_BYTES / 2);
}

/** What one client has not read. */
export interface UnreadBytes {
  /** Returns `false` if there is no room for them. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}
