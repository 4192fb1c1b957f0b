import { isUtf8 } from "node:buffer";
import { type Dir, type Dirent, opendirSync } from "node:fs";
import { type EntryKind, kindOf } from "./entry-stat.ts";
import { ask, WorkspaceError } from "./error.ts";
import type { OpenHandles } from "./open-handles.ts";
import { fdPath } from "./paths/fd-path.ts";
import { isReachable } from "./paths/segments.ts";

/** One name in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: EntryKind;
}

/**
 * The names in a directory, read as they are asked for, in no order, without `.` and `..`. Those that no path can
 * hold (no UTF-8, a backslash) are left out.
 */
export class DirectoryListing {
  readonly #handles: OpenHandles;
  #dir: Dir | undefined;

  /** @param directory An open directory. */
  constructor(handles: OpenHandles, directory: number) {
    handles.checkRoom();
    // Node.js types a directory's names as strings only, but gives them as bytes too.
    this.#dir = ask(() => opendirSync(fdPath(directory), { encoding: "buffer" as BufferEncoding }));
    this.#handles = handles;
    handles.add(this);
  }

  /** The next one; `undefined` at the end. */
  next(): DirectoryEntry | undefined {
    const dir = this.#dir;
    if (dir === undefined) throw new WorkspaceError("bad-descriptor");
    for (;;) {
      const entry = ask(() => dir.readSync()) as unknown as Dirent<Buffer> | null;
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
