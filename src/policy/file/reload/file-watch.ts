import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** How long a file must not change before it counts as whole, and how long events are collected. */
const QUIET_MS = 100;
/** How often the file is looked at without an event. Some file systems send none, and links lead elsewhere. */
const POLL_MS = 2_000;

/** Identifies the contents of a file, without reading them; the same for every file that cannot be read. */
export type FileStamp = string;

/** Returns the stamp of a file, to which links are followed. */
export async function stampOf(path: string): Promise<FileStamp> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return "unreadable";
  }
}

/**
 * Calls a function each time when the contents of a file have changed and then been left alone for a while. It watches
 * the file's directory, because editors replace files by others of the same name. It does not keep the process running.
 */
export class FileWatch implements Disposable {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #poll: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  #next: NodeJS.Timeout | undefined;
  /** The stamp for which the function was called last. */
  #known: FileStamp;
  /** The stamp when the file was looked at last. */
  #seen: FileStamp;
  /** Whether something may have happened since the file was looked at. */
  #isDue = false;
  #isClosed = false;

  /** @param known The stamp of the contents that the caller has read, taken before it read them. */
  constructor(path: string, known: FileStamp, onChange: () => void) {
    this.#path = path;
    this.#known = known;
    this.#seen = known;
    this.#onChange = onChange;
    this.#watcher = this.#watchDirectory();
    this.#poll = setInterval(() => this.#lookSoon(), POLL_MS).unref();
  }

  /** Without events, such as if the system has no more watches, the file is still looked at from time to time. */
  #watchDirectory(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(this.#path), { persistent: false }, () => this.#lookSoon());
      return watcher.on("error", () => watcher.close());
    } catch {
      return undefined;
    }
  }

  /** Events of other files in the directory must not postpone it. */
  #lookSoon(): void {
    this.#isDue = true;
    if (this.#isClosed || this.#next !== undefined) return;
    this.#next = setTimeout(() => void this.#look(), QUIET_MS).unref();
  }

  async #look(): Promise<void> {
    this.#isDue = false;
    const stamp = await stampOf(this.#path);
    this.#next = undefined;
    if (stamp !== this.#seen) {
      this.#seen = stamp;
      this.#isDue = true;
    } else if (stamp !== this.#known && !this.#isClosed) {
      this.#known = stamp;
      this.#onChange();
    }
    if (this.#isDue) this.#lookSoon();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#watcher?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#next);
  }
}
