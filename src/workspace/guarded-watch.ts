import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { onGuardedFiles } from "../base/guarded-files.ts";
import { isGone } from "./error.ts";
import { coverOf, type GuardedCover, guardedAccess } from "./guarded-cover.ts";

/** Milliseconds between two looks: where changes are reported, and where the system cannot watch more directories. */
const LOOK_MS = 1_000;
const UNREPORTED_LOOK_MS = 50;

interface Place {
  readonly path: string;
  /** Where the program sees it. */
  readonly at: string;
  readonly before: ReadonlyMap<string, string>;
  readonly look: () => ReadonlyMap<string, string>;
}

/**
 * Notices when a file of Sandgate itself appears or is replaced in what a program was granted: a mount covers the old file
 * only, and nothing covers a new one. The program has to be ended then.
 */
export class GuardedWatch implements Disposable {
  readonly #places: Place[] = [];
  readonly #watchers: FSWatcher[] = [];
  readonly #stopListening = onGuardedFiles(() => this.#lookSoon());
  #looking: NodeJS.Timeout | undefined;
  #exposed: string | undefined;
  #listener: ((path: string) => void) | undefined;
  #isOver = false;

  /**
   * Watches what was covered in a granted directory.
   *
   * @param at Where the program sees it.
   */
  addDirectory(path: string, isWritable: boolean, { found }: GuardedCover, at: string): void {
    this.#places.push({ path, at, before: found, look: () => coverOf(path, isWritable).found });
    if (found.size === 0) return;
    this.#watch();
    // Something may have changed before it was watched.
    this.#lookSoon();
  }

  /** Watches whether a granted file becomes a guarded one. */
  addFile(path: string, at: string): void {
    const look = (): ReadonlyMap<string, string> => new Map([["", guardedAccess(path) ?? ""]]);
    this.#places.push({ path, at, before: look(), look });
  }

  /** Calls a listener, at most once, in a later turn. It receives the path at which the program sees the file. */
  onExposed(listener: (path: string) => void): void {
    this.#listener = listener;
    if (this.#exposed !== undefined) setImmediate(() => this.#report());
  }

  /** Watches the directories that lead to the files, as they are now. */
  #watch(): void {
    this.#unwatch();
    let areReported = true;
    for (const [directory, names] of this.#names()) {
      try {
        const watcher = watch(directory, { persistent: false }, (type, name) => {
          if (this.#isOver || type !== "rename" || (name !== null && !names.has(name))) return;
          this.#watch();
          this.#check();
        });
        watcher.on("error", () => {});
        this.#watchers.push(watcher);
      } catch (error) {
        // A directory that does not exist appears in another one.
        if (!isGone(error)) areReported = false;
      }
    }
    this.#looking = setInterval(() => this.#check(), areReported ? LOOK_MS : UNREPORTED_LOOK_MS).unref();
  }

  /** The names in each directory that lead to a file. */
  #names(): ReadonlyMap<string, ReadonlySet<string>> {
    const names = new Map<string, Set<string>>();
    for (const { path, before } of this.#places) {
      for (const below of before.keys()) {
        for (let each = below; each !== "." && each !== ""; each = dirname(each)) {
          const directory = join(path, dirname(each));
          names.set(directory, (names.get(directory) ?? new Set()).add(basename(each)));
        }
      }
    }
    return names;
  }

  #lookSoon(): void {
    setImmediate(() => this.#check()).unref();
  }

  #check(): void {
    if (this.#isOver) return;
    for (const place of this.#places) {
      const changed = changedIn(place);
      if (changed === undefined) continue;
      this[Symbol.dispose]();
      this.#exposed = join(place.at, changed);
      this.#report();
      return;
    }
  }

  #report(): void {
    if (this.#exposed === undefined || this.#listener === undefined) return;
    this.#listener(this.#exposed);
    this.#listener = undefined;
  }

  #unwatch(): void {
    clearInterval(this.#looking);
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stopListening();
    this.#unwatch();
  }
}

function changedIn({ before, look }: Place): string | undefined {
  try {
    const now = look();
    return [...now.keys()].find((path) => before.get(path) !== now.get(path));
  } catch {
    // What cannot be searched any more could have any file.
    return [...before.keys()][0] ?? "";
  }
}
