import { isUtf8 } from "node:buffer";
import { type Dir, type Dirent, opendirSync } from "node:fs";
import { type EntryKind, kindOf } from "./entry-stat.ts";
import { syscall, WorkspaceError } from "./error.ts";
import type { OpenHandles } from "./handles/open-handles.ts";
import { fdPath } from "./paths/fd-path.ts";
import { isReachable } from "./paths/segments.ts";

/** A name in a directory. */
export interface DirectoryEntry {
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
