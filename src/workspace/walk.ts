import { isUtf8 } from "node:buffer";
import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { EscapeError, syscall, syscallUnless, WorkspaceError, type WorkspaceErrorCode } from "./error.ts";
import {
  DIRECTORY_FLAGS,
  ENTRY_FLAGS,
  entryPath,
  fdPath,
  namesIn,
  O_PATH,
  pathSegments,
  realPath,
} from "./paths.ts";

/** Maximum depth of a path below its start. Each level uses an open descriptor. */
const MAX_DEPTH = 128;

/** Maximum number of links that a path can lead through, as on Linux (`path_resolution(7)`). */
const MAX_LINKS = 40;

/**
 * Other paths to where a walk leads: for each link that it followed, the path as the link names it, from the root of the
 * file system. `.git/hooks` is such a path even if `.git` is a link to another name.
 */
export type Aliases = readonly (readonly string[])[];

const NO_ALIASES: Aliases = [];

/** Whether a path may lead through links. */
export type LinkRule = "allowed" | "refused";

/**
 * Resolves a path one name at a time. Each system call uses a single name in an open directory, and never
 * follows a link: links are read, and their targets are walked like the path itself. `..` returns to the
 * previous directory, which is still open. The walk therefore never leaves its start directory, even if
 * entries are renamed or replaced by links in the meantime. Absolute links are refused, and so are the magic
 * links of `/proc`, whose targets are absolute paths or names that do not exist.
 */
export class PathWalk implements Disposable {
  readonly #from: number;
  /** The open directories below the start, down to the current one. */
  readonly #opened: number[] = [];
  /** The name by which each of them was entered. */
  readonly #names: string[] = [];
  /** The remaining segments of the path, in reverse order. */
  readonly #left: string[];
  readonly #maxLinks: number;
  #links = 0;
  #lastName: string | undefined;
  /** The name of the directory that was last entered, or could not be. */
  #entered = "";
  #aliases: Aliases;

  /**
   * @param from The open start directory, which the walk never leaves.
   * @param path An untrusted relative path.
   * @param links Whether the path may lead through links.
   * @param aliases Other paths of the start directory.
   */
  constructor(from: number, path: string, links: LinkRule = "allowed", aliases: Aliases = NO_ALIASES) {
    this.#from = from;
    this.#maxLinks = links === "allowed" ? MAX_LINKS : 0;
    const segments = pathSegments(path);
    this.#aliases = aliases.map((names) => resolveNames(names, segments));
    this.#left = segments.reverse();
  }

  get aliases(): Aliases {
    return this.#aliases;
  }

  /** The current directory. The walk closes it. */
  get directory(): number {
    return this.#opened.at(-1) ?? this.#from;
  }

  /**
   * The last name that {@link open} reached, in {@link directory}; `undefined` if the path does not end in a
   * name.
   */
  get lastName(): string | undefined {
    return this.#lastName;
  }

  /**
   * Walks to the directory of the path's last name, and returns the name; `undefined` if the path does not
   * end in a name.
   */
  toLastName(): string | undefined {
    for (;;) {
      const segment = this.#left.pop();
      if (segment === undefined) return undefined;
      if (segment === "..") this.#goUp();
      else if (segment !== ".") {
        if (this.#left.length === 0) return segment;
        this.#entered = segment;
        this.#goDown(segment);
      }
    }
  }

  /**
   * Opens the entry at the path without its contents (`O_PATH`), to be checked before they are opened. The
   * caller must close it.
   *
   * @param follow Whether to follow a link at the end of the path. Otherwise, the link itself is opened.
   * @returns the descriptor, or the last name if {@link directory} has no such entry.
   */
  open(follow: boolean): number | { readonly missing: string } {
    for (;;) {
      const name = this.toLastName();
      this.#lastName = name;
      if (name === undefined) return syscall(() => openSync(fdPath(this.directory), O_PATH));
      const path = entryPath(this.directory, name);
      const fd = syscallUnless(["no-entry"], () => openSync(path, ENTRY_FLAGS));
      if (fd === undefined) return { missing: name };
      if (!follow || !isLink(fd)) return fd;
      closeSync(fd);
      // The link was replaced in the meantime, by an entry that has not been checked.
      if (!this.#follow(name)) throw new WorkspaceError("busy");
    }
  }

  /**
   * Resolves the path without opening what it leads to: as far as it exists, and from there on as if its names were new
   * directories. Follows a link at its end.
   *
   * @returns The names from the start directory.
   */
  resolve(): readonly string[] {
    for (;;) {
      try {
        const found = this.open(true);
        if (typeof found === "number") closeSync(found);
        return [...this.#names, ...(this.#lastName === undefined ? [] : [this.#lastName])];
      } catch (error) {
        if (!(error instanceof WorkspaceError) || !UNREACHED.includes(error.code)) throw error;
        const missing = this.#passMissing(this.#entered);
        if (missing.length > 0) return [...this.#names, ...missing];
      }
    }
  }

  /** Passes a directory that does not exist, up to the end of the path or to the `..` that leaves it. */
  #passMissing(name: string): readonly string[] {
    const missing = [name];
    while (missing.length > 0) {
      const segment = this.#left.pop();
      if (segment === undefined) break;
      if (segment === "..") missing.pop();
      else if (segment !== ".") missing.push(segment);
    }
    return missing;
  }

  #goUp(): void {
    const left = this.#opened.pop();
    this.#names.pop();
    if (left === undefined) throw new EscapeError();
    closeSync(left);
  }

  #goDown(name: string): void {
    if (this.#opened.length >= MAX_DEPTH) throw new WorkspaceError("name-too-long");
    const path = entryPath(this.directory, name);
    // These codes mean a link or a file.
    const fd = syscallUnless(["not-directory", "loop"], () => openSync(path, DIRECTORY_FLAGS));
    if (fd !== undefined) {
      this.#opened.push(fd);
      this.#names.push(name);
    } else if (!this.#follow(name)) throw new WorkspaceError("not-directory");
  }

  /** Replaces a link by the segments of its target. Returns `false` if it is not a link, or no longer one. */
  #follow(name: string): boolean {
    const target = readLink(this.directory, name);
    if (target === undefined) return false;
    if (++this.#links > this.#maxLinks) throw new WorkspaceError("loop");
    const rest = [name, ...this.#left.toReversed()];
    this.#aliases = [...this.#aliases, resolveNames(namesIn(realPath(this.directory)), rest)];
    this.#left.push(...pathSegments(target).reverse());
    return true;
  }

  [Symbol.dispose](): void {
    for (const fd of this.#opened.splice(0)) closeSync(fd);
  }
}

/** Why a directory on the way cannot be entered. */
const UNREACHED: readonly WorkspaceErrorCode[] = ["no-entry", "not-directory", "access"];

/** Resolves segments as if there were no links. */
function resolveNames(start: readonly string[], segments: readonly string[]): readonly string[] {
  const names = [...start];
  for (const segment of segments) {
    if (segment === "..") names.pop();
    else if (segment !== ".") names.push(segment);
  }
  return names;
}

function isLink(fd: number): boolean {
  return fstatSync(fd).isSymbolicLink();
}

/** Returns the target of a link; `undefined` if the entry is not a link. */
export function readLink(directory: number, name: string): string | undefined {
  const target = syscallUnless(["invalid"], () =>
    readlinkSync(entryPath(directory, name), { encoding: "buffer" }),
  );
  if (target === undefined) return undefined;
  if (!isUtf8(target)) throw new WorkspaceError("illegal-byte-sequence");
  return target.toString("utf8");
}
