import type { DirectoryGrant } from "../policy/grant/directory-grant.ts";
import { ChangeBudget } from "./change-budget.ts";
import { WorkspaceDirectory } from "./directory.ts";
import { OpenHandles } from "./open-handles.ts";
import { WorkspaceRoot } from "./root.ts";

/** A granted directory, as a tool finds it. */
export interface MountedDirectory {
  /** Where the tool sees it: an absolute path. */
  readonly at: string;
  /** Open as long as the workspace is. */
  readonly directory: WorkspaceDirectory;
}

/**
 * The directories of one call's grant, and whatever the call has open in them. Everything is synchronous: it is
 * for a thread whose guest waits.
 */
export class Workspace implements Disposable {
  readonly directories: readonly MountedDirectory[];
  readonly #handles = new OpenHandles();
  readonly #budget: ChangeBudget;

  /**
   * @param fileBytes The limit of that name.
   * @throws {DirectoryGrantError} when a granted directory cannot be used.
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

  /** Bytes by which files grew or were written over. */
  get writtenBytes(): number {
    return this.#budget.writtenBytes;
  }

  /** Whether the call may have changed anything. */
  get hasChanged(): boolean {
    return this.#budget.hasChanged;
  }

  /** Another call begins, which may change as much again. What is open stays open. */
  refill(): void {
    this.#budget.refill();
  }

  /** Closes whatever is open. */
  [Symbol.dispose](): void {
    this.#handles.close();
  }
}

/**
 * Checks that granted directories can be used, before anything runs.
 *
 * @throws {DirectoryGrantError} when one cannot.
 */
export function checkDirectories(grants: readonly DirectoryGrant[]): void {
  if (grants.length > 0) new Workspace(grants, 0)[Symbol.dispose]();
}
