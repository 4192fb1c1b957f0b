import type { DirectoryGrant } from "../../../policy/grant/directory-grant.ts";

/** What the grant of a call gives its guest of the world, as far as it is left. Most calls have none of it. */
export interface ExternalAccess {
  readonly net: FetchAllowance | undefined;
  readonly fs: FileAllowance | undefined;
}

/** What a guest may yet send. Where it may go is decided outside its thread. */
export interface FetchAllowance {
  /** How many more requests. */
  readonly requests: number;
  /** Bytes. */
  readonly bytes: number;
}

/** What a guest may do with files. */
export interface FileAllowance {
  readonly directories: readonly DirectoryGrant[];
  /** The limit of that name, for the whole call. */
  readonly fileBytes: number;
  readonly used: FileUse;
}

/** What a call did with files so far. */
export interface FileUse {
  readonly writtenBytes: number;
  /** Files and directories that it created. */
  readonly created: number;
  /** Whether it may have changed anything. */
  readonly hasChanged: boolean;
}

/** What a call that did nothing yet has used. */
export const NO_FILE_USE: FileUse = Object.freeze({ writtenBytes: 0, created: 0, hasChanged: false });
