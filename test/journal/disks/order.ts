import type { ToolError } from "../../../src/engine/errors.ts";

/** What the process does. */
export interface DiskOrder {
  /** Of the journal. */
  readonly directory: string;
  /** A file on another disk, to which each effect adds a line. */
  readonly effects: string;
  readonly failure: DiskFailure;
}

export type DiskFailure = "closed file" | "file size" | "full disk" | "read-only file system";

/** What became of the calls. */
export interface DiskReport {
  /** Whether calls succeeded before the failure. */
  readonly before: readonly boolean[];
  readonly after: readonly (ToolError | undefined)[];
  /** The number of calls that succeeded, besides the one that was running when the journal failed. */
  readonly ran: number;
  readonly effects: readonly string[];
  /** Of the receipt of a call that was running when the journal failed. */
  readonly recorded?: false;
  readonly problem: string;
  readonly lost: number;
  /** With a closed file: how many records waited after more calls were denied than the journal keeps. */
  readonly waiting?: number;
  /** Whether a call succeeded once there was space again. */
  readonly healed?: boolean;
  /** What verifying says against the journal at the end. */
  readonly verified: unknown;
}
