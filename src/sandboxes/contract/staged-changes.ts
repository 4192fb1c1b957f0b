import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { Changes } from "../../tool/changes.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";

/** The granted files of a task, over which its changes are staged. */
export interface GrantedFiles {
  /** The files on disk. Every path is checked against the grant. */
  readonly files: WorkspaceFiles;
  readonly grants: readonly FsGrant[];
  /** Maximum number of bytes that the task may write; `undefined` if there is no limit. */
  readonly fileBytes: number | undefined;
}

/** The files of one task whose changes are staged: its tool reads and writes them in place of those on disk. */
export interface StagedFiles {
  readonly files: WorkspaceFiles;
  /** Bytes that the task has written. */
  readonly writtenBytes: number;
  /** What the task has changed so far; `undefined` if it may change nothing. */
  readonly changes: Changes | undefined;
  /** Ends the task: nothing changes any more. */
  end(): void;
}

/**
 * Opens the files of a task that the host sandbox runs in this process, so that what it changes is staged and does not reach
 * the disk. It may grant no more than it was given: a directory that can only be read stays so.
 *
 * @throws anything, if they cannot be opened: the task does not run.
 */
export type StageChanges = (granted: GrantedFiles) => StagedFiles;
