import type { DirectoryGrant } from "../policy/grant/directory-grant.ts";
import { ChangeBudget } from "./change-budget.ts";
import { WorkspaceDirectory } from "./directory.ts";
import { OpenHandles } from "./open-handles.ts";
import { WorkspaceRoot } from "./root.ts";

/** A granted directory, as a tool sees it. */
export interface MountedDirectory {
  /** Absolute path at which the tool sees the directory. */
  readonly at: string;
  /** Open until the workspace is disposed. */
  readonly directory: WorkspaceDirectory;
}

/**
 * The granted directories of a call, with its open files. All operations are synchronous, for use in a thread
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
  constructor(grants: readonly DirectoryGrant[], fileBytes: number) {
    this.#budget = new ChangeBudget(fileBytes);
    try {
      this.directories = grants.map((grant) => {
        const root = new WorkspaceRoot(grant, this.#handles, this.#budget);
        return { at: grant.at ?? "/", directory: new WorkspaceDirectory(root, root.fd) };
      });
    } catch (error) {
      this.#handles.close();
      throw error;
    }
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
 * Checks that granted directories can be used, before anything runs.
 *
 * @throws {DirectoryGrantError} if one of them cannot be used.
 */
export function checkDirectories(grants: readonly DirectoryGrant[]): void {
  if (grants.length > 0) new Workspace(grants, 0)[Symbol.dispose]();
}
