import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { Changes } from "../../../tool/changes.ts";
import type { TouchedList } from "../../../workspace/change-budget.ts";

/** Maximum number of HTTP requests of one call. */
export const MAX_REQUESTS = 64;

/**
 * The maximum size of a decompressed response body and of a file that is read, in bytes. On their way to the
 * guest, this process has several copies of them, which no other limit covers.
 */
export const MAX_TEXT_BYTES: number = 8 * 1_024 * 1_024;

/** What the guest of a call can still access outside its heap. Most calls are granted none of it. */
export interface ExternalAccess {
  readonly net: FetchAllowance | undefined;
  readonly fs: FileAllowance | undefined;
  /** Random bytes: unpredictable ones, or those that follow from a seed. */
  readonly random: true | string | undefined;
}

/** How many requests a guest may still send. The process checks where they go. */
export interface FetchAllowance {
  /** The remaining number of requests. */
  readonly requests: number;
  /** The remaining bytes of the network budget. */
  readonly bytes: number;
}

/** What a guest may do with files. */
export interface FileAllowance {
  readonly grants: readonly FsGrant[];
  /** What the process guards. */
  readonly guarded: string;
  /** The limit `fileBytes` of the whole call. */
  readonly fileBytes: number;
  readonly used: FileUse;
}

/** What a call has done with files so far. */
export interface FileUse {
  readonly writtenBytes: number;
  /** Files and directories that it created. */
  readonly created: number;
  /** Whether it may have changed anything. */
  readonly hasChanged: boolean;
  /** The entries that it has changed; absent if there are none. */
  readonly touched?: TouchedList;
  /**
   * Their changes so far; absent if nothing was used or may be changed, or a step could not determine them.
   */
  readonly changes?: Changes;
}

/** The use of a call that has not done anything yet. */
export const NO_FILE_USE: FileUse = Object.freeze({ writtenBytes: 0, created: 0, hasChanged: false });
