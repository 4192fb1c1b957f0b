import { basename, dirname, join, relative } from "node:path";
import { type FileGrant, type FsGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import { type Changes, type FileChange, toChanges } from "../tool/changes.ts";
import { ChangeBudget, type TouchedEntry, type TouchedList } from "./change-budget.ts";
import { WorkspaceDirectory } from "./directory.ts";
import type { EntryStat } from "./entry-stat.ts";
import { EscapeError, WorkspaceError } from "./error.ts";
import { WorkspaceFile } from "./file.ts";
import { FileReplacement, type ReplaceOptions } from "./file-replacement.ts";
import { type DirectorySource, OPEN_EACH_TIME, OpenHandles } from "./open-handles.ts";
import { OpenedDirectory, type OpenOptions, openPath, statPath } from "./open-path.ts";
import { pathSegments } from "./paths.ts";
import { WorkspaceRoot } from "./root.ts";
import type { StagedMount } from "./staged/staged-mount.ts";
import { type StagedDirectory, StagedWorkspace, withoutOutside } from "./staged/staged-workspace.ts";
import type { NewVersion, ToolDirectory } from "./tool-directory.ts";

/** A granted directory, or one with granted files, as a tool sees it. */
export interface MountedDirectory {
  /** Absolute path at which the tool sees the directory. */
  readonly at: string;
  /** Open until the workspace is disposed. */
  readonly directory: ToolDirectory;
}

/** Options of {@link Workspace}. */
export interface WorkspaceOptions {
  /** Opens the granted directories. Default: each is opened for this workspace alone. */
  readonly directories?: DirectorySource | undefined;
  /** Where changes are staged. Default: they are made at once. */
  readonly staged?: StagedMount | undefined;
}

/** The directory of a grant, and how paths in it are shown among changes. */
interface GrantedRoot {
  readonly root: WorkspaceRoot;
  readonly shownAs: (path: string) => string;
}

/**
 * The granted directories and files of a call, with its open files. All operations are synchronous, for use in a thread
 * in which the guest waits for them.
 */
export class Workspace implements Disposable {
  readonly directories: readonly MountedDirectory[];
  readonly #handles = new OpenHandles();
  readonly #budget: ChangeBudget;
  readonly #directories: DirectorySource;
  readonly #roots: GrantedRoot[] = [];
  readonly #staged: StagedWorkspace | undefined;

  /**
   * @param fileBytes The limit `fileBytes` of the call.
   * @throws {DirectoryGrantError} if a granted directory cannot be used.
   */
  constructor(
    given: readonly FsGrant[],
    fileBytes: number,
    { directories: source = OPEN_EACH_TIME, staged }: WorkspaceOptions = {},
  ) {
    this.#directories = source;
    this.#budget = new ChangeBudget(fileBytes);
    try {
      const grants = staged === undefined ? given : given.map((grant) => withoutOutside(grant, staged));
      this.#staged = staged && new StagedWorkspace(staged, this.#handles, this.#budget);
      const directories = grants.flatMap((grant) => {
        if (isFileGrant(grant)) return [];
        const { at = "/" } = grant;
        const root = new WorkspaceRoot(grant, this.#handles, this.#budget, {
          index: this.#roots.length,
          directories: this.#directories,
        });
        const shownAs = (path: string): string => (grants.length === 1 ? path : join(at, path).slice(1));
        this.#roots.push({ root, shownAs });
        const directory = new WorkspaceDirectory(root, root.fd);
        return [{ at, directory: this.#staged?.show(directory, grant, shownAs) ?? directory }];
      });
      this.directories = [...directories, ...this.#openFiles(grants.filter(isFileGrant))];
    } catch (error) {
      this.#handles.close();
      throw error;
    }
  }

  /** Mounts the granted files. Those that a tool sees in the same directory share one. */
  #openFiles(grants: readonly FileGrant[]): readonly MountedDirectory[] {
    const mounted = new Map<string, GrantedFiles>();
    for (const grant of grants) {
      const {
        file,
        at = `/${basename(file)}`,
        within = dirname(file),
        write = false,
        writesProtected,
      } = grant;
      const named = grant.within ?? file;
      const opened = { directory: within, write, ...(writesProtected !== undefined && { writesProtected }) };
      const root = new WorkspaceRoot(opened, this.#handles, this.#budget, {
        index: this.#roots.length,
        directories: this.#directories,
        named,
      });
      const shownAs = (): string => at.slice(1);
      this.#roots.push({ root, shownAs });
      const staged = this.#staged?.show(new WorkspaceDirectory(root, root.fd), { ...opened, named }, shownAs);
      const place = dirname(at);
      const files = mounted.get(place) ?? new GrantedFiles();
      files.add(basename(at), root, relative(within, file), staged);
      mounted.set(place, files);
    }
    return Array.from(mounted, ([at, directory]) => ({ at, directory }));
  }

  /** Bytes that were written, including zeros by which files grew. */
  get writtenBytes(): number {
    return this.#budget.writtenBytes;
  }

  /** Whether the call may have changed anything. */
  get hasChanged(): boolean {
    return this.#budget.hasChanged;
  }

  /** The entries that the call has changed, for a workspace in which the call continues. */
  get touched(): TouchedList {
    return this.#budget.touched.list;
  }

  /** Adds entries that the call has changed in an earlier workspace with the same grants. */
  restore(touched: TouchedList): void {
    this.#budget.touched.restore(touched);
  }

  /** What the call has changed until now: `undefined` if it cannot change anything. */
  get changes(): Changes | undefined {
    if (!this.#roots.some(({ root }) => root.isWritable)) return undefined;
    const { entries, hasMore } = this.touched;
    const files = entries.flatMap((entry) => {
      const { root, shownAs } = this.#roots[entry.root] as GrantedRoot;
      const change = changeOf(entry, root.fd.number);
      return change === undefined ? [] : [{ ...change, path: shownAs(change.path) }];
    });
    return toChanges([...files, ...(this.#staged?.changes() ?? [])], { more: hasMore });
  }

  /** Resets the counts of changes for the next call. Open handles stay open. */
  refill(): void {
    this.#budget.refill();
  }

  /** Closes all open handles. */
  [Symbol.dispose](): void {
    this.#handles.close();
  }
}

/**
 * Checks that granted directories, and those of granted files, can be used before anything runs.
 *
 * @throws {DirectoryGrantError} if one of them cannot be used.
 */
export function checkDirectories(grants: readonly FsGrant[]): void {
  if (grants.length > 0) new Workspace(grants, 0)[Symbol.dispose]();
}

/**
 * Compares an entry with what it was before the call changed it. A directory is a change only if it was
 * moved.
 *
 * @param root The open granted directory.
 * @returns `undefined` if it neither exists nor existed before.
 */
function changeOf({ path, existed, isMovedDirectory }: TouchedEntry, root: number): FileChange | undefined {
  const stat = statOf(root, path);
  const isDirectory = stat === undefined ? isMovedDirectory === true : stat?.kind === "directory";
  if (isDirectory && !isMovedDirectory) return undefined;
  const shown = isDirectory ? `${path}/` : path;
  if (stat === undefined) return existed ? { path: shown, change: "deleted", bytes: 0 } : undefined;
  const bytes = isDirectory ? 0 : Number(stat?.size ?? 0);
  return { path: shown, change: existed ? "modified" : "created", bytes };
}

/** The status of an entry: `undefined` if it does not exist, `null` if it cannot be read. */
function statOf(root: number, path: string): EntryStat | undefined | null {
  try {
    return statPath(root, path, { links: "refused" });
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return ["no-entry", "not-directory", "loop"].includes(error.code) ? undefined : null;
  }
}

/** A granted file, and the open directory from which it is reached. */
interface GrantedFile {
  readonly root: WorkspaceRoot;
  /** Relative to the root. */
  readonly path: string;
  /** The root's directory with the staged changes; `undefined` if changes are not staged. */
  readonly staged: StagedDirectory | undefined;
}

/**
 * A directory that a tool sees around granted files, and that contains nothing else. It cannot be listed. The files can
 * be opened, created and replaced, but not removed or renamed, and no link leads to them.
 */
class GrantedFiles implements ToolDirectory {
  readonly #files = new Map<string, GrantedFile>();

  /**
   * @param name The name that the tool sees.
   * @param path Relative to the root.
   * @param staged The root's directory with the staged changes. Default: changes are not staged.
   */
  add(name: string, root: WorkspaceRoot, path: string, staged?: StagedDirectory): void {
    this.#files.set(name, { root, path, staged });
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
    const { root, staged } = file;
    if (staged !== undefined) return openStaged(staged, file.path, options);
    const opened = openPath(root, root.fd.number, file.path, { ...options, follow: false, links: "refused" });
    if (!(opened instanceof OpenedDirectory)) return opened;
    opened.fd.release();
    throw new WorkspaceError("is-directory");
  }

  stat(path: string): EntryStat {
    const file = this.#find(path);
    if (file === undefined) return this.statSelf();
    const stat =
      file.staged?.stat(file.path) ?? statPath(file.root.fd.number, file.path, { links: "refused" });
    // Entries of other kinds are not granted.
    if (stat.kind !== "regular-file")
      throw new WorkspaceError("not-permitted", "the path is not a regular file");
    return stat;
  }

  /** The directory is virtual: times and links of the real one would reveal other files. */
  statSelf(): EntryStat {
    const times = { accessedAt: 0n, modifiedAt: 0n, changedAt: 0n };
    return { kind: "directory", size: 0n, links: 1n, ...times, identity: "granted files" };
  }

  replace(path: string, options: Pick<ReplaceOptions, "create"> = {}): NewVersion {
    const file = this.#find(path);
    if (file === undefined) throw new WorkspaceError("is-directory");
    if (file.staged !== undefined) {
      // No link leads to a granted file.
      if (file.staged.exists(file.path)) this.stat(path);
      return file.staged.replace(file.path, options);
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

function openStaged(staged: StagedDirectory, path: string, options: OpenOptions): WorkspaceFile {
  const opened = staged.open(path, { ...options, follow: false });
  if (opened instanceof WorkspaceFile) return opened;
  opened.close();
  throw new WorkspaceError("is-directory");
}
