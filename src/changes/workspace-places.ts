import { closeSync, constants, type Dirent, fsyncSync, lstatSync, openSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { syscall, syscallUnless, WorkspaceError } from "../workspace/error.ts";
import { Guard } from "../workspace/guard.ts";
import { entryPath, namesIn } from "../workspace/paths.ts";
import { protectedPlace } from "../workspace/protected-places.ts";
import { openGranted } from "../workspace/root.ts";
import { PathWalk } from "../workspace/walk.ts";

/**
 * Entries of a workspace by their paths. Each use walks to the entry again and follows no link, so that no
 * path leads out of the workspace, even if other processes change it meanwhile.
 */
export class WorkspacePlaces implements Disposable {
  /** An absolute path without links. */
  readonly workspace: string;
  readonly #fd: number;

  /** @throws {DirectoryGrantError} if the directory does not exist, or is reached through a link. */
  constructor(workspace: string) {
    this.workspace = workspace;
    this.#fd = openGranted(workspace);
  }

  /**
   * Calls `act` with a path to an entry, which is valid until `act` returns.
   *
   * @throws {WorkspaceError} if the directory of the entry cannot be reached without links, and what system calls throw.
   */
  at<Result>(path: string, act: (entry: string) => Result): Result {
    using walk = new PathWalk(this.#fd, path, "refused");
    const name = walk.toLastName();
    if (name === undefined) throw new WorkspaceError("invalid");
    return syscall(() => act(entryPath(walk.directory, name)));
  }

  /** Identifies the entry and its version; `undefined` if it does not exist. Reading it does not change the version. */
  version(path: string): string | undefined {
    return syscallUnless(["no-entry", "not-directory"], () =>
      this.at(path, (entry) => {
        const { dev, ino, size, mtimeNs, ctimeNs } = lstatSync(entry, { bigint: true });
        return [dev, ino, size, mtimeNs, ctimeNs].join(":");
      }),
    );
  }

  /** Identifies the entry, whatever its contents; `undefined` if it does not exist. */
  identity(path: string): string | undefined {
    return this.version(path)?.split(":", 2).join(":");
  }

  exists(path: string): boolean {
    return this.version(path) !== undefined;
  }

  /**
   * Returns the nearest existing directory above a path; an empty text is the workspace itself.
   *
   * @param except Directories to skip.
   */
  existingAbove(path: string, except: ReadonlySet<string>): string {
    const names = namesIn(path).slice(0, -1);
    while (names.length > 0) {
      const directory = names.join("/");
      if (!except.has(directory) && this.exists(directory)) return directory;
      names.pop();
    }
    return "";
  }

  /**
   * Whether only a grant that names the path allows a change there. Places that need a confirmation do not
   * count, since the approver has seen them.
   */
  isProtected(path: string): boolean {
    const guard = Guard.current();
    const whole = posix.join(this.workspace, path);
    if (guard !== undefined && (guard.accessTo(whole) !== undefined || guard.isAbove(whole))) return true;
    const own = namesIn(this.workspace);
    return protectedPlace([...own, ...namesIn(path)], own.length, true)?.list === "denied";
  }

  /** Lists a directory; an empty text is the workspace itself. */
  list(directory: string): readonly Dirent[] {
    using walk = new PathWalk(this.#fd, `${directory || "."}/.`, "refused");
    walk.toLastName();
    return syscall(() => readdirSync(entryPath(walk.directory, "."), { withFileTypes: true }));
  }

  /** Flushes directories, so that the names in them survive a power failure. */
  sync(directories: Iterable<string>): void {
    for (const directory of new Set(directories)) {
      using walk = new PathWalk(this.#fd, directory || ".", "refused");
      const place = walk.open(false);
      if (typeof place !== "number") continue;
      try {
        syscall(() => syncDirectory(entryPath(place, ".")));
      } finally {
        closeSync(place);
      }
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** Flushes a directory, so that the names in it survive a power failure. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
