import type { ConflictReason } from "./disk-entry.ts";

/** A change that cannot be accepted. */
export interface ChangeConflict {
  /** Relative to the workspace. */
  readonly path: string;
  /**
   * `changed`, `deleted`, `replaced` (by something that is no file, or another link), `created` (where nothing was) or
   * `not-empty`: the disk is not what the session saw. `unreachable`: a directory on the way is no longer one. `protected`:
   * no tool may change it. `not-shown`: the change is not the one that was shown.
   * `unsupported`: a link or a device of a shadow, which is not merged.
   */
  readonly reason: ConflictReason;
}

/** What became of changes that were to be accepted: either all of them were, or there are conflicts. */
export interface AcceptedChanges {
  /** Relative to the workspace, sorted. Empty if there are conflicts. */
  readonly accepted: readonly string[];
  readonly conflicts: readonly ChangeConflict[];
}

/** Options of accepting changes. */
export interface AcceptOptions {
  /** The digest of what was shown. Default: what is staged now is accepted, whatever it is. */
  readonly digest?: string;
}
