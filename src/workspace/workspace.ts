import { basename, dirname, relative } from "node:path";
import type { FileGrant } from "../policy/grant/file-grant.ts";
import { type FsGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import { ChangeBudget } from "./change-budget.ts";
import { WorkspaceDirectory } from "./directory.ts";
import { GrantedFiles } from "./granted-files.ts";
import { OpenHandles } from "./handles/open-handles.ts";
import { WorkspaceRoot } from "./root.ts";
import type { ToolDirectory } from "./tool-directory.ts";

/** A granted directory, or one with granted files, as a tool sees it. */
export interface MountedDirectory {
  /** Absolute path at which the tool sees the directory. */
  readonly at: string;
  /** Open until the workspace is disposed. */
  readonly directory: ToolDirectory;
}

/**
 * The granted directories and files of a call, with its open files. All operations are synchronous, for use in a thread
 * in which the guest waits for them.
 */
export class Workspace implements Disposable {
  readonly directories: readonly MountedDirectory[];
  readonly #handles = new OpenHandles();
  readonly #budget: ChangeBudget;

  /**
   * @param fileBytes The limit `fileBytes` of the call.
   * @throws {DirectoryGrantError} if a granted directory cannot be used.
   */
  constructor(grants: readonly FsGrant[], fileBytes: number) {
    this.#budget = new ChangeBudget(fileBytes);
    try {
      const directories = grants.flatMap((grant) => {
        if (isFileGrant(grant)) return [];
        const root = new WorkspaceRoot(grant, this.#handles, this.#budget);
        return [{ at: grant.at ?? "/", directory: new WorkspaceDirectory(root, root.fd) }];
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
      const { file, at = `/${basename(file)}`, within = dirname(file), write = false } = grant;
      const named = grant.within ?? file;
      const root = new WorkspaceRoot({ directory: within, write }, this.#handles, this.#budget, named);
      const place = dirname(at);
      const files = mounted.get(place) ?? new GrantedFiles();
      files.add(basename(at), root, relative(within, file));
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
