import { posix } from "node:path";
import { EscapeError, WorkspaceError } from "./error.ts";
import { type ProtectionGrant, unopenedPlace } from "./granted-protected.ts";
import { OPEN_EACH_TIME, type UsedDirectory } from "./open-handles.ts";
import { namesIn, pathSegments, workspaceIsSupported } from "./paths.ts";
import type { ProtectedPlace } from "./protected-places.ts";
import { openGranted } from "./root.ts";
import { type Aliases, PathWalk } from "./walk.ts";

/** Where a path leads. */
export class ResolvedPath {
  /** Relative to the directory, without `..` and links; `.` for the directory itself. */
  readonly path: string;
  /** The paths by which it leads there through links, which are relative to the directory as well. */
  readonly links: readonly string[];
  readonly #names: readonly string[];
  readonly #aliases: Aliases;

  /**
   * @param names From the root of the file system.
   * @param depth How many of these names the directory has.
   */
  constructor(names: readonly string[], depth: number, aliases: Aliases = []) {
    this.path = names.slice(depth).join("/") || ".";
    this.links = aliases.length === 0 ? NO_LINKS : linksIn(aliases, names.slice(0, depth));
    this.#names = names;
    this.#aliases = aliases;
  }

  /** Whether the path leads to a directory or file, or below it. */
  isIn(place: string): boolean {
    return namesIn(place).every((name, index) => name === this.#names[index]);
  }

  /**
   * Returns every path to the entry, relative to a directory that contains it: its real path, and those
   * through links.
   */
  pathsIn(place: string): readonly string[] {
    const own = namesIn(place);
    return [this.#names, ...this.#aliases].flatMap((names) =>
      own.every((name, index) => name === names[index]) ? [names.slice(own.length).join("/")] : [],
    );
  }

  /** Returns the protected places that what is there belongs to, unless the grant opens them: see `protectedPlace`. */
  protectedPlaces(grant: ProtectionGrant): readonly ProtectedPlace[] {
    return [this.#names, ...this.#aliases].flatMap((names) => unopenedPlace(names, grant, true) ?? []);
  }
}

const NO_LINKS: readonly string[] = Object.freeze([]);

function linksIn(aliases: Aliases, directory: readonly string[]): readonly string[] {
  return aliases
    .filter((names) => directory.every((name, index) => name === names[index]))
    .map((names) => names.slice(directory.length).join("/") || ".");
}

/** Why a path leads nowhere: it leads out of the directory, or no file can have it. */
export type UnresolvedPath = "escapes" | { readonly problem: string };

/**
 * Resolves paths that are relative to a directory and must stay in it. Opens only directories, and the entry
 * at the end without its contents. The result can be outdated at once: the caller has to check the entry
 * again.
 */
export class PathResolver implements Disposable {
  readonly #directory: string;
  /** `undefined` if this platform cannot open directories: then links are not resolved. */
  readonly #opened: UsedDirectory | undefined;

  /**
   * @param directory An absolute path.
   * @throws {DirectoryGrantError} if it could not be granted.
   */
  constructor(directory: string) {
    this.#directory = directory;
    this.#opened = workspaceIsSupported() ? OPEN_EACH_TIME.use(directory, openGranted) : undefined;
  }

  /**
   * Resolves a path as the system does. The names at its end may be missing. A path that leads out if `..` is resolved
   * before links are followed leads out as well. Does not throw for any path.
   *
   * @param path Relative, or absolute and in the directory. Empty for the directory itself.
   */
  resolve(path: string): ResolvedPath | UnresolvedPath {
    try {
      return this.#resolve(this.#relative(path));
    } catch (error) {
      if (error instanceof EscapeError) return "escapes";
      if (error instanceof WorkspaceError) return { problem: error.message };
      throw error;
    }
  }

  #resolve(path: string): ResolvedPath {
    const own = namesIn(this.#directory);
    const { fd } = this.#opened ?? {};
    if (fd === undefined) return new ResolvedPath([...own, ...resolveNames(path)], own.length);
    // Programs that leave out `a/..` before they open a path get elsewhere than the system, if `a` is a link.
    if (path.includes("..")) checkEnd(fd, posix.normalize(path));
    using walk = new PathWalk(fd, path);
    const names = walk.resolve();
    return new ResolvedPath([...own, ...names], own.length, walk.aliases);
  }

  #relative(path: string): string {
    if (!path.startsWith("/")) return path === "" ? "." : path;
    const names = path.split("/").filter((name) => name !== "");
    const own = namesIn(this.#directory);
    if (own.some((name, index) => name !== names[index])) throw new EscapeError();
    return names.slice(own.length).join("/") || ".";
  }

  [Symbol.dispose](): void {
    this.#opened?.release();
  }
}

/** @throws {WorkspaceError} */
function checkEnd(fd: number, path: string): void {
  using walk = new PathWalk(fd, path);
  walk.resolve();
}

function resolveNames(path: string): readonly string[] {
  const names: string[] = [];
  for (const segment of pathSegments(path)) {
    if (segment !== ".." && segment !== ".") names.push(segment);
    else if (segment === ".." && names.pop() === undefined) throw new EscapeError();
  }
  return names;
}
