import { MAX_FILE_CHANGES } from "../tool/changes.ts";

/** A file or directory that a call has changed, as it was before. */
export interface TouchedEntry {
  /** The index of the granted directory. */
  readonly root: number;
  /** Relative to that directory. */
  readonly path: string;
  readonly existed: boolean;
  /** Set for a directory that was moved. */
  readonly isMovedDirectory?: true;
}

/** How an entry was before an operation changed it. */
type Before = Pick<TouchedEntry, "existed" | "isMovedDirectory">;

/**
 * The entries that a call has changed. Only the first change of an entry counts, since it tells what was there before; what
 * is there afterwards, the file system tells.
 */
export class TouchedEntries {
  readonly #entries = new Map<string, TouchedEntry>();
  #hasMore = false;

  add(root: number, path: string, { existed, isMovedDirectory }: Before): void {
    const key = `${root} ${path}`;
    const known = this.#entries.get(key);
    if (known === undefined && this.#entries.size === MAX_FILE_CHANGES) {
      this.#hasMore = true;
      return;
    }
    const moved = isMovedDirectory ?? known?.isMovedDirectory;
    const entry = { root, path, existed: known?.existed ?? existed };
    this.#entries.set(key, moved ? { ...entry, isMovedDirectory: true } : entry);
  }

  /** Adds what an earlier part of the call has changed. */
  restore({ entries, hasMore }: TouchedList): void {
    for (const entry of entries) this.add(entry.root, entry.path, entry);
    this.#hasMore ||= hasMore;
  }

  get list(): TouchedList {
    return { entries: [...this.#entries.values()], hasMore: this.#hasMore };
  }

  clear(): void {
    this.#entries.clear();
    this.#hasMore = false;
  }
}

/** Touched entries, as they are passed on between threads. */
export interface TouchedList {
  /** At most as many as changes are reported. */
  readonly entries: readonly TouchedEntry[];
  readonly hasMore: boolean;
}
