import { isUtf8 } from "node:buffer";
import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { ask, syscallUnless, WorkspaceError } from "../error.ts";
import { DIRECTORY_FLAGS, ENTRY_FLAGS, entryPath, fdPath, O_PATH } from "./fd-path.ts";
import { pathSegments } from "./segments.ts";

/** How far below its beginning a path may lead: each level holds a descriptor. */
const MAX_DEPTH = 128;

/** How many links one path may lead through, as on Linux itself (`path_resolution(7)`). */
const MAX_LINKS = 40;

/**
 * A way through directories, one name at a time. The kernel is only ever asked for one name in a directory that is
 * held open, and never follows a link: links are read and walked like the rest of the path. `..` goes back to the
 * directory that the way came from, which is held as well. So no way leaves the directory where it begins,
 * whatever is renamed or replaced by a link in the meantime. An absolute link is refused, and so are the magic
 * ones of `/proc`, which read as absolute paths or as names that do not exist.
 */
export class PathWalk implements Disposable {
  readonly #from: number;
  /** The directories below the beginning, down to where the way is now. */
  readonly #held: number[] = [];
  /** What is left of the path, last name first. */
  readonly #left: string[];
  #links = 0;

  /**
   * @param from The open directory in which it begins, and which it never leaves.
   * @param path Relative; hostile.
   */
  constructor(from: number, path: string) {
    this.#from = from;
    this.#left = pathSegments(path).reverse();
  }

  /** The open directory where the way is now. It belongs to the walk. */
  get directory(): number {
    return this.#held.at(-1) ?? this.#from;
  }

  /** Goes to the directory in which the path's last name is, and returns that; `undefined` if it ends in none. */
  toLastName(): string | undefined {
    for (;;) {
      const segment = this.#left.pop();
      if (segment === undefined) return undefined;
      if (segment === "..") this.#goUp();
      else if (segment !== ".") {
        if (this.#left.length === 0) return segment;
        this.#goDown(segment);
      }
    }
  }

  /**
   * Opens what the path leads to, as a place (`O_PATH`): to be looked at before its contents are opened. It
   * belongs to the caller.
   *
   * @param follow Whether the walk goes on where the path leads to a link; otherwise the link itself is opened.
   * @returns the last name where there is nothing of that name in {@link directory}.
   */
  open(follow: boolean): number | { readonly missing: string } {
    for (;;) {
      const name = this.toLastName();
      if (name === undefined) return ask(() => openSync(fdPath(this.directory), O_PATH));
      const path = entryPath(this.directory, name);
      const fd = syscallUnless(["no-entry"], () => openSync(path, ENTRY_FLAGS));
      if (fd === undefined) return { missing: name };
      if (!follow || !isLink(fd)) return fd;
      closeSync(fd);
      // No link any more: it was replaced in between, and whatever is there now was not looked at.
      if (!this.#follow(name)) throw new WorkspaceError("busy");
    }
  }

  #goUp(): void {
    const left = this.#held.pop();
    if (left === undefined) throw new WorkspaceError("not-permitted");
    closeSync(left);
  }

  #goDown(name: string): void {
    if (this.#held.length >= MAX_DEPTH) throw new WorkspaceError("name-too-long");
    const path = entryPath(this.directory, name);
    // A link is no directory, nor is a file.
    const fd = syscallUnless(["not-directory", "loop"], () => openSync(path, DIRECTORY_FLAGS));
    if (fd !== undefined) this.#held.push(fd);
    else if (!this.#follow(name)) throw new WorkspaceError("not-directory");
  }

  /** Puts what a link says in its place; `false` when it is none (any more). */
  #follow(name: string): boolean {
    const target = readLink(this.directory, name);
    if (target === undefined) return false;
    if (++this.#links > MAX_LINKS) throw new WorkspaceError("loop");
    this.#left.push(...pathSegments(target).reverse());
    return true;
  }

  [Symbol.dispose](): void {
    for (const fd of this.#held.splice(0)) closeSync(fd);
  }
}

function isLink(fd: number): boolean {
  return fstatSync(fd).isSymbolicLink();
}

/** What a link says; `undefined` when it is none. */
export function readLink(directory: number, name: string): string | undefined {
  const target = syscallUnless(["invalid"], () =>
    readlinkSync(entryPath(directory, name), { encoding: "buffer" }),
  );
  if (target === undefined) return undefined;
  if (!isUtf8(target)) throw new WorkspaceError("illegal-byte-sequence");
  return target.toString("utf8");
}
