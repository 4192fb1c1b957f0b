import type { StagedQuota } from "./staged-quota.ts";
import type { SeenVersions } from "./staged-record.ts";
import type { StagedStore } from "./staged-store.ts";

/**
 * Where the changes of a session are staged.
 *
 * Calls see the workspace with the staged changes. They cannot change what is granted to them outside of the workspace, which would not be
 * reviewed.
 */
export interface StagedMount {
  /** The workspace: an absolute path without links. */
  readonly workspace: string;
  readonly store: StagedStore;
  readonly room: StagedQuota;
  /** The versions that the session has read. */
  readonly seen: SeenVersions;
}
