import { isUtf8 } from "node:buffer";
import { type Dir, type Dirent, opendirSync } from "node:fs";
import { type EntryKind, type EntryStat, kindOf } from "./entry-stat.ts";
import { syscall, WorkspaceError } from "./error.ts";
import type { WorkspaceFile } from "./file.ts";
import type { ReplaceOptions } from "./file-replacement.ts";
import type { OpenHandles } from "./open-handles.ts";
import type { OpenOptions } from "./open-path.ts";
import { fdPath, isReachable } from "./paths.ts";

/** A new version of a file, which takes its place when it is complete: see `FileReplacement`. */
export interface NewVersion extends Disposable {
  /** The new version, empty at first. */
  readonly file: WorkspaceFile;
  /** Gives the new version the name of the file. It must have been flushed to the disk. */
  commit(): void;
}

/** The names in a directory, in no particular order, without `.` and `..`. */
export interface Listing {
  /** Returns the next entry; `undefined` at the end. */
  next(): DirectoryEntry | undefined;
  close(): void;
}

/**
 * An open directory, as a tool uses it: a granted one, one below it, or one that shows only granted files. Paths are
 * relative to it, have `/` between their names, and cannot leave it, neither by `..` nor through links. All methods
 * throw `WorkspaceError` on failure.
 */
export interface ToolDirectory {
  /** Whether any of it may be changed. */
  readonly isWritable: boolean;

  /**
   * Opens a regular file or a directory. Anything else is never opened, not even temporarily, and neither is a file of
   * another user with more than one hard link. A file with several that is opened for writing is replaced by a copy first.
   */
  open(path: string, options?: OpenOptions): WorkspaceFile | ToolDirectory;

  /**
   * Returns the status of the entry at a path; of the link itself if the path ends in a link and `follow` is not set.
   */
  stat(path: string, options?: Pick<OpenOptions, "follow">): EntryStat;

  /** Returns the status of this directory. */
  statSelf(): EntryStat;

  /**
   * Returns the target of a link. Absolute targets are refused, since they would reveal paths of this machine.
   */
  readLink(path: string): string;

  /** Lists the names in this directory. */
  list(): Listing;

  /** Begins to replace the contents of a file. Follows links. */
  replace(path: string, options?: Pick<ReplaceOptions, "create">): NewVersion;

  createDirectory(path: string): void;

  /** Removes an empty directory. */
  removeDirectory(path: string): void;

  /** Removes a file, or a link itself. */
  removeFile(path: string): void;

  /** Renames or moves a file, directory or link, within the same workspace. */
  rename(path: string, to: ToolDirectory, toPath: string): void;

  /** Adds a holder, which must close the directory as well. */
  share(): this;

  /** Releases one holder, and closes the directory when the last one is released. */
  close(): void;
}

/** A name in a directory. */
interface DirectoryEntry {
  readonly name: string;
  readonly kind: EntryKind;
}

/**
 * Lists the names in a directory, in no particular order, without `.` and `..`. They are read on demand.
 * Names that no path can contain (with invalid UTF-8 or a backslash) are skipped.
 */
export class DirectoryListing {
  readonly #handles: OpenHandles;
  #dir: Dir | undefined;

  /** @param directory An open directory. */
  constructor(handles: OpenHandles, directory: number) {
    handles.checkRoom();
    // The types of Node.js allow only strings as names, but it also supports bytes.
    this.#dir = syscall(() => opendirSync(fdPath(directory), { encoding: "buffer" as BufferEncoding }));
    this.#handles = handles;
    handles.add(this);
  }

  /** Returns the next entry; `undefined` at the end. */
  next(): DirectoryEntry | undefined {
    const dir = this.#dir;
    if (dir === undefined) throw new WorkspaceError("bad-descriptor");
    for (;;) {
      const entry = syscall(() => dir.readSync()) as unknown as Dirent<Buffer> | null;
      if (entry === null) return undefined;
      const name = entry.name.toString("utf8");
      if (isUtf8(entry.name) && isReachable(name)) return { name, kind: kindOf(entry) };
    }
  }

  close(): void {
    const dir = this.#dir;
    if (dir === undefined) return;
    this.#dir = undefined;
    this.#handles.delete(this);
    dir.closeSync();
  }
}
