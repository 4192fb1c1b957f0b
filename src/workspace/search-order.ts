import { closeSync, lstatSync } from "node:fs";
import { entryPath } from "./paths/fd-path.ts";

/** How many directories in one directory come before those elsewhere, the oldest of them. */
const MAX_SIBLINGS = 100;

/** A directory that is still to be searched. */
export interface WaitingDirectory {
  readonly fd: number;
  readonly names: readonly string[];
  /** When it got its name or its contents, in nanoseconds since the epoch, if it is the beginning of a place; otherwise 0. */
  readonly changedAt: bigint;
}

/**
 * The order in which directories are searched, level by level. A program can make any number of directories to hide others behind
 * them: therefore beginnings of places come first, and of many directories beside each other the oldest.
 */
export class SearchOrder implements Disposable {
  /** Whether no directory has been left out. */
  isComplete = true;
  readonly #beginnings: WaitingDirectory[] = [];
  readonly #level: WaitingDirectory[] = [];
  readonly #late: WaitingDirectory[] = [];
  readonly #opened: number[] = [];
  readonly #most: number;
  #searched = 0;

  /** @param most How many directories are searched, besides beginnings of places. */
  constructor(first: WaitingDirectory, most: number) {
    this.#level.push(first);
    this.#most = most;
  }

  /** Returns the next directory; `undefined` if there is none, or enough have been searched. */
  next(): WaitingDirectory | undefined {
    const beginning = this.#beginnings.shift();
    if (beginning !== undefined) return beginning;
    const next = this.#searched < this.#most ? (this.#level.shift() ?? this.#late.shift()) : undefined;
    if (next !== undefined) this.#searched++;
    else if (this.#level.length + this.#late.length > 0) this.isComplete = false;
    return next;
  }

  addBeginning(directory: WaitingDirectory): void {
    this.#opened.push(directory.fd);
    this.#beginnings.push(directory);
  }

  /**
   * Adds the directories in a directory.
   *
   * @param open Opens one of them. Returns `undefined` if it is not there any more.
   */
  add(parent: number, names: readonly string[], open: (name: string) => WaitingDirectory | undefined): void {
    const ordered = names.length > MAX_SIBLINGS ? oldestFirst(parent, names) : names;
    for (const [index, name] of ordered.entries()) {
      const queue = index < MAX_SIBLINGS ? this.#level : this.#late;
      if (this.#searched + queue.length >= this.#most) {
        this.isComplete = false;
        return;
      }
      const directory = open(name);
      if (directory === undefined) continue;
      this.#opened.push(directory.fd);
      queue.push(directory);
    }
  }

  [Symbol.dispose](): void {
    for (const fd of this.#opened) closeSync(fd);
  }
}

/** Programs can change every other time of a directory. */
function oldestFirst(parent: number, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, age: bornAt(entryPath(parent, name)) }))
    .sort((one, other) => one.age - other.age)
    .map(({ name }) => name);
}

function bornAt(path: string): number {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
