import type { EntryStat } from "./entry-stat.ts";
import { EscapeError, WorkspaceError } from "./error.ts";
import { WorkspaceFile } from "./file.ts";
import { FileReplacement, type ReplaceOptions } from "./file-replacement.ts";
import { OpenedDirectory, type OpenOptions, openPath, statPath } from "./open-path.ts";
import { pathSegments } from "./paths/segments.ts";
import type { WorkspaceRoot } from "./root.ts";
import type { StagedDirectory } from "./staged/staged-directory.ts";
import type { NewVersion, ToolDirectory } from "./tool-directory.ts";

/** A granted file, and the open directory from which it is reached. */
interface GrantedFile {
  readonly root: WorkspaceRoot;
  /** Relative to the root. */
  readonly path: string;
  /** The root's directory with the staged changes; `undefined` if changes are not staged. */
  readonly held: StagedDirectory | undefined;
}

/**
 * A directory that a tool sees around granted files, and that contains nothing else. It cannot be listed. The files can
 * be opened, created and replaced, but not removed or renamed, and no link leads to them.
 */
export class GrantedFiles implements ToolDirectory {
  readonly #files = new Map<string, GrantedFile>();

  /**
   * @param name The name that the tool sees.
   * @param path Relative to the root.
   * @param staged The root's directory with the staged changes. Default: changes are not staged.
   */
  add(name: string, root: WorkspaceRoot, path: string, held?: StagedDirectory): void {
    this.#files.set(name, { root, path, held });
  }

  get isWritable(): boolean {
    return [...this.#files.values()].some(({ root }) => root.isWritable);
  }

  open(path: string, options: OpenOptions = {}): WorkspaceFile | ToolDirectory {
    const file = this.#find(path);
    if (file === undefined) {
      if (options.write || options.create) throw new WorkspaceError("is-directory");
      return this;
    }
    const { root, held } = file;
    if (held !== undefined) return openStaged(held, file.path, options);
    const opened = openPath(root, root.fd.number, file.path, { ...options, follow: false, links: "refused" });
    if (!(opened instanceof OpenedDirectory)) return opened;
    opened.fd.release();
    throw new WorkspaceError("is-directory");
  }

  stat(path: string): EntryStat {
    const file = this.#find(path);
    if (file === undefined) return this.statSelf();
    const stat = file.held?.stat(file.path) ?? statPath(file.root.fd.number, file.path, { links: "refused" });
    // What else could be there is not granted.
    if (stat.kind !== "regular-file")
      throw new WorkspaceError("not-permitted", "the path is no regular file");
    return stat;
  }

  /** The directory is not a real one, whose times and links would tell of other files. */
  statSelf(): EntryStat {
    const times = { accessedAt: 0n, modifiedAt: 0n, changedAt: 0n };
    return { kind: "directory", size: 0n, links: 1n, ...times, identity: "granted files" };
  }

  replace(path: string, options: Pick<ReplaceOptions, "create"> = {}): NewVersion {
    const file = this.#find(path);
    if (file === undefined) throw new WorkspaceError("is-directory");
    if (file.held !== undefined) {
      // No link leads to a granted file.
      if (file.held.exists(file.path)) this.stat(path);
      return file.held.replace(file.path, options);
    }
    return new FileReplacement(file.root, file.root.fd.number, file.path, { ...options, links: "refused" });
  }

  readLink(): never {
    throw new WorkspaceError("invalid");
  }

  list(): never {
    throw new WorkspaceError("not-permitted");
  }

  createDirectory(): never {
    throw new WorkspaceError("not-permitted");
  }

  removeDirectory(): never {
    throw new WorkspaceError("not-permitted");
  }

  removeFile(): never {
    throw new WorkspaceError("not-permitted");
  }

  rename(): never {
    throw new WorkspaceError("not-permitted");
  }

  share(): this {
    return this;
  }

  /** The roots are closed with the workspace. */
  close(): void {}

  /** Returns the file that a path names; `undefined` for this directory itself. */
  #find(path: string): GrantedFile | undefined {
    const [name, ...others] = pathSegments(path).filter((segment) => segment !== ".");
    if (name === undefined) return undefined;
    const file = this.#files.get(name);
    if (file === undefined) throw new EscapeError();
    if (others.length > 0 || path.endsWith("/")) throw new WorkspaceError("not-directory");
    return file;
  }
}

function openStaged(held: StagedDirectory, path: string, options: OpenOptions): WorkspaceFile {
  const opened = held.open(path, { ...options, follow: false });
  if (opened instanceof WorkspaceFile) return opened;
  opened.close();
  throw new WorkspaceError("is-directory");
}
