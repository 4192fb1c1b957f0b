import { MAX_FILE_CHANGES } from "../tool/changes.ts";
import { WorkspaceError } from "./error.ts";

/**
 * Maximum number of files and directories that a call can create, since even empty ones take up disk space.
 */
export const MAX_CREATED = 10_000;

/** Counts the changes of a call against its limits, and collects the changed entries. */
export class ChangeBudget {
  readonly touched: TouchedEntries = new TouchedEntries();
  readonly #fileBytes: number;
  #writtenBytes = 0;
  #created = 0;
  #hasChanged = false;

  /** @param fileBytes The limit `fileBytes` of the call. */
  constructor(fileBytes: number) {
    this.#fileBytes = fileBytes;
  }

  /** Bytes that were written, including zeros by which files grew. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether anything may have changed. Attempted changes count, even if they fail. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /**
   * Counts a change that is about to be made.
   *
   * @param bytes Bytes to write, or by which a file grows. Default: 0.
   * @throws {WorkspaceError} `insufficient-space` if that exceeds the limit. Nothing is counted then.
   */
  change(bytes = 0): void {
    if (bytes > this.#fileBytes - this.#writtenBytes) throw new WorkspaceError("insufficient-space");
    this.#writtenBytes += bytes;
    this.#hasChanged = true;
  }

  /** Counts a file or directory that is about to be created. */
  create(): void {
    if (this.#created >= MAX_CREATED) throw new WorkspaceError("insufficient-space");
    this.#created++;
    this.#hasChanged = true;
  }

  /** Resets all counts, and forgets the entries. */
  refill(): void {
    this.#writtenBytes = 0;
    this.#created = 0;
    this.#hasChanged = false;
    this.touched.clear();
  }
}

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
 * The entries that a call has changed. Only the first change of an entry is recorded: it says what existed
 * before. The state afterwards is read from the file system.
 */
class TouchedEntries {
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
