import { basename, dirname, join, relative } from "node:path";
import { type FileGrant, type FsGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import { type Changes, type FileChange, toChanges } from "../tool/changes.ts";
import { ChangeBudget } from "./change-budget.ts";
import { WorkspaceDirectory } from "./directory.ts";
import type { EntryStat } from "./entry-stat.ts";
import { WorkspaceError } from "./error.ts";
import { GrantedFiles } from "./granted-files.ts";
import { type DirectorySource, OPEN_EACH_TIME } from "./handles/directory-cache.ts";
import { OpenHandles } from "./handles/open-handles.ts";
import { statPath } from "./open-path.ts";
import { WorkspaceRoot } from "./root.ts";
import type { StagedMount } from "./staged/staged-mount.ts";
import { StagedWorkspace, withoutOutside } from "./staged/staged-workspace.ts";
import type { ToolDirectory } from "./tool-directory.ts";
import type { TouchedEntry, TouchedList } from "./touched-entries.ts";

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
  /** Where changes are staged. Default: they are not, but made at once. */
  readonly held?: StagedMount | undefined;
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
  readonly #held: StagedWorkspace | undefined;

  /**
   * @param fileBytes The limit `fileBytes` of the call.
   * @throws {DirectoryGrantError} if a granted directory cannot be used.
   */
  constructor(
    given: readonly FsGrant[],
    fileBytes: number,
    { directories: source = OPEN_EACH_TIME, held }: WorkspaceOptions = {},
  ) {
    this.#directories = source;
    this.#budget = new ChangeBudget(fileBytes);
    try {
      const grants = held === undefined ? given : given.map((grant) => withoutOutside(grant, held));
      this.#held = held && new StagedWorkspace(held, this.#handles, this.#budget);
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
        return [{ at, directory: this.#held?.show(directory, grant, shownAs) ?? directory }];
      });
      this.directories = [...directories, ...this.#openFiles(grants.filter(isFileGrant))];
    } catch (error) {
      this.#handles.close();
      throw error;
    }
  }

  /** Files that a tool sees in one directory are in one directory. */
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
      const held = this.#held?.show(new WorkspaceDirectory(root, root.fd), { ...opened, named }, shownAs);
      const place = dirname(at);
      const files = mounted.get(place) ?? new GrantedFiles();
      files.add(basename(at), root, relative(within, file), held);
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

  /** The entries that the call has changed, for a workspace in which it goes on. */
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
    return toChanges([...files, ...(this.#held?.changes() ?? [])], { more: hasMore });
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
 * Compares an entry with what it was before the call changed it. A directory is a change only if it was moved.
 *
 * @param root The open granted directory.
 * @returns `undefined` if it is not there now and was not before.
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

/** The status of an entry: `undefined` if it is not there, `null` if it cannot be read. */
function statOf(root: number, path: string): EntryStat | undefined | null {
  try {
    return statPath(root, path, { links: "refused" });
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return ["no-entry", "not-directory", "loop"].includes(error.code) ? undefined : null;
  }
}
