import { relative } from "node:path";
import { type FsGrant, isFileGrant, type WritesProtected } from "../../policy/grant/fs-grant.ts";
import type { FileChange } from "../../tool/changes.ts";
import type { ChangeBudget } from "../change-budget.ts";
import { WorkspaceError } from "../error.ts";
import type { OpenHandles } from "../handles/open-handles.ts";
import type { ToolDirectory } from "../tool-directory.ts";
import { StagedContents } from "./staged-contents.ts";
import { StagedDirectory } from "./staged-directory.ts";
import type { StagedMount } from "./staged-mount.ts";
import { StagedView } from "./staged-view.ts";

/** How a directory is granted. */
interface GrantedDirectory {
  readonly directory: string;
  readonly write?: boolean;
  readonly writesProtected?: WritesProtected;
  /** The path that the grant names. Default: the directory. */
  readonly named?: string;
}

/** A path that the call has changed. */
interface StagedTouch {
  readonly view: StagedView;
  /** Relative to the granted directory. */
  readonly path: string;
  readonly shownAs: string;
  readonly existed: boolean;
}

/** The granted directories of a call whose changes are staged. */
export class StagedWorkspace {
  readonly #mount: StagedMount;
  readonly #contents: StagedContents;
  readonly #touched = new Map<string, StagedTouch>();

  constructor(mount: StagedMount, handles: OpenHandles, budget: ChangeBudget) {
    this.#mount = mount;
    this.#contents = new StagedContents(mount, handles, budget);
  }

  /**
   * Returns a granted directory with the staged changes; `undefined` if it is outside of the workspace.
   *
   * @param disk The directory as it is on the disk.
   * @param shownAs Returns how a path in it is shown among changes.
   */
  show(
    disk: ToolDirectory,
    { directory, write = false, writesProtected, named = directory }: GrantedDirectory,
    shownAs: (path: string) => string,
  ): StagedDirectory | undefined {
    const { workspace, seen } = this.#mount;
    const prefix = pathIn(workspace, directory);
    if (prefix === undefined) return undefined;
    const start = prefix === "" ? 0 : prefix.length + 1;
    const view: StagedView = new StagedView({
      disk,
      directory,
      named,
      writesProtected,
      prefix,
      seen,
      isWritable: write,
      contents: this.#contents,
      touch: (whole, existed) => {
        const path = whole.slice(start);
        if (this.#touched.has(whole)) return;
        this.#touched.set(whole, { view, path, shownAs: shownAs(path), existed });
      },
    });
    return new StagedDirectory(view);
  }

  /** What the call has changed, as the session sees it. */
  changes(): readonly FileChange[] {
    return [...this.#touched.values()].flatMap(({ view, path, shownAs, existed }): FileChange[] => {
      const stat = statIn(new StagedDirectory(view), path);
      if (stat === undefined) return existed ? [{ path: shownAs, change: "deleted", bytes: 0 }] : [];
      if (stat.kind === "directory") return [];
      const change = existed ? "modified" : "created";
      return [{ path: shownAs, change, bytes: Number(stat.size) }];
    });
  }
}

function statIn(directory: StagedDirectory, path: string): ReturnType<StagedDirectory["stat"]> | undefined {
  try {
    return directory.stat(path);
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

/** Takes the right to change anything outside of the workspace out of a grant. */
export function withoutOutside(grant: FsGrant, { workspace }: StagedMount): FsGrant {
  if (!grant.write) return grant;
  const directory = isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
  return pathIn(workspace, directory) === undefined ? { ...grant, write: false } : grant;
}

/** Returns the path of a directory in another one; `undefined` if it is not there. */
function pathIn(workspace: string, directory: string): string | undefined {
  const path = relative(workspace, directory);
  return path === ".." || path.startsWith("../") ? undefined : path;
}
