import type { StagedRecord } from "../../workspace/staged/staged-record.ts";

/**
 * One step of accepting changes. Each can be found out to be done or not, so that it can be repeated or undone after a
 * crash. All paths are relative to the workspace; `temporary` and `backup` are names that only Sandgate uses.
 */
export type Step =
  | RemoveStep
  | { readonly kind: "remove-folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "create-folder"; readonly path: string }
  | PlaceStep;

/** Moves a file or a link to its backup, which is removed at the end. */
export interface RemoveStep {
  readonly kind: "remove";
  readonly path: string;
  readonly backup: string;
  /** The version that is removed. */
  readonly version: string;
}

/** Gives a file that was written beside it the name of the new or changed file. */
export interface PlaceStep {
  readonly kind: "place";
  readonly path: string;
  readonly temporary: string;
  /** What identifies the temporary file. */
  readonly identity: string;
  /** A copy of the file that is replaced; `null` for a new one. */
  readonly backup: string | null;
  /** The version that is replaced; `null` for a new file. */
  readonly version: string | null;
}

/** What a process does that accepts changes. */
export interface AcceptingRecord {
  /** Identifies the process. */
  readonly process: string;
  /**
   * While `preparing`, only the files in `made` exist. Once `applying`, all steps are done, and if one cannot be done, all
   * are undone (`undoing`). When all are `done`, the files in `made` that are left have no use.
   */
  readonly state: "preparing" | "applying" | "undoing" | "done";
  /** Temporary files and backups. */
  readonly made: readonly string[];
  readonly steps: readonly Step[];
  /** The changes, which are no longer staged once they have been made. */
  readonly records: readonly StagedRecord[];
}
