import { relative } from "node:path";
import { type FsGrant, isFileGrant, type WritesProtected } from "../../policy/grant/fs-grant.ts";
import type { FileChange } from "../../tool/changes.ts";
import type { ChangeBudget } from "../change-budget.ts";
import type { EntryKind, EntryStat } from "../entry-stat.ts";
import { WorkspaceError } from "../error.ts";
import type { WorkspaceFile } from "../file.ts";
import type { ReplaceOptions } from "../file-replacement.ts";
import type { OpenHandles } from "../open-handles.ts";
import type { OpenOptions } from "../open-path.ts";
import { pathSegments } from "../paths.ts";
import type { Listing, NewVersion, ToolDirectory } from "../tool-directory.ts";
import type { StagedMount } from "./staged-mount.ts";
import { isOwn, resolveStaged, type StagedPlace } from "./staged-path.ts";
import { StagedContents, StagedView } from "./staged-view.ts";

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

  /** The changes of the call, as the session sees them. */
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

/** Removes the permission to change anything outside of the workspace from a grant. */
export function withoutOutside(grant: FsGrant, { workspace }: StagedMount): FsGrant {
  if (!grant.write) return grant;
  const directory = isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
  return pathIn(workspace, directory) === undefined ? { ...grant, write: false } : grant;
}

/** Returns the path of a directory in another one; `undefined` if it is not in it. */
function pathIn(workspace: string, directory: string): string | undefined {
  const path = relative(workspace, directory);
  return path === ".." || path.startsWith("../") ? undefined : path;
}

/** A granted directory, or one below it, as it is with the staged changes. Changes in it are staged, too. */
export class StagedDirectory implements ToolDirectory {
  readonly #view: StagedView;
  /** Relative to the granted directory; empty for the directory itself. */
  readonly #path: string;

  constructor(view: StagedView, path = "") {
    this.#view = view;
    this.#path = path;
  }

  get isWritable(): boolean {
    return this.#view.isWritable;
  }

  open(path: string, options: OpenOptions = {}): WorkspaceFile | ToolDirectory {
    const { write = false, create = false, exclusive = false, truncate = false, directory } = options;
    if (write || create || truncate) this.#view.checkWritable();
    if ((truncate && !write) || (create && directory)) throw new WorkspaceError("invalid");
    const place = this.#resolve(path, options.follow === true && !(create && exclusive));
    if (place.kind !== "missing" && create && exclusive) throw new WorkspaceError("exist");
    switch (place.kind) {
      case "missing":
        if (!create) throw new WorkspaceError("no-entry");
        return this.#view.createFile(place, options);
      case "directory":
        if (write || create) throw new WorkspaceError("is-directory");
        return new StagedDirectory(this.#view, place.path);
      case "file": {
        if (directory) throw new WorkspaceError("not-directory");
        const file = write ? this.#view.change(place, options) : this.#view.read(place, options);
        if (truncate) file.resize(0);
        return file;
      }
      default:
        throw new WorkspaceError(place.kind === "link" ? "loop" : "not-permitted");
    }
  }

  stat(path: string, { follow = false }: Pick<OpenOptions, "follow"> = {}): EntryStat {
    return this.#view.statOf(this.#resolve(path, follow));
  }

  /** Whether there is an entry at a path, without following a link at its end. */
  exists(path: string): boolean {
    return this.#resolve(path, false).kind !== "missing";
  }

  statSelf(): EntryStat {
    return this.#view.statOf(this.#self());
  }

  readLink(path: string): string {
    const place = this.#resolve(path, false);
    if (place.kind === "missing") throw new WorkspaceError("no-entry");
    if (place.kind !== "link") throw new WorkspaceError("invalid");
    return this.#view.disk.readLink(place.path);
  }

  list(): Listing {
    return listStaged(this.#view, this.#self());
  }

  replace(path: string, { create = false }: Pick<ReplaceOptions, "create"> = {}): NewVersion {
    this.#view.checkWritable();
    const place = this.#resolve(path, true);
    if (place.kind === "missing" && !create) throw new WorkspaceError("no-entry");
    if (place.kind === "directory") throw new WorkspaceError("is-directory");
    if (place.kind !== "missing" && place.kind !== "file") throw new WorkspaceError("not-permitted");
    return this.#view.replace(place);
  }

  createDirectory(path: string): void {
    this.#view.checkWritable();
    const place = this.#resolve(withoutEndSlash(path), false);
    if (place.kind !== "missing") throw new WorkspaceError("exist");
    this.#view.createDirectory(place);
  }

  removeDirectory(path: string): void {
    this.#view.checkWritable();
    const place = this.#resolve(withoutEndSlash(path), false);
    if (place.kind === "missing") throw new WorkspaceError("no-entry");
    if (place.kind !== "directory") throw new WorkspaceError("not-directory");
    if (place.path === "" || isDots(path)) throw new WorkspaceError("invalid");
    const listing = listStaged(this.#view, place);
    try {
      if (listing.next() !== undefined) throw new WorkspaceError("not-empty");
    } finally {
      listing.close();
    }
    this.#view.remove(place);
  }

  removeFile(path: string): void {
    this.#view.checkWritable();
    const place = this.#resolve(path, false);
    if (place.kind === "missing") throw new WorkspaceError("no-entry");
    if (place.kind === "directory" || isDots(path)) throw new WorkspaceError("is-directory");
    if (place.kind === "other") throw new WorkspaceError("not-permitted");
    this.#view.remove(place);
  }

  rename(path: string, to: ToolDirectory, toPath: string): void {
    this.#view.checkWritable();
    if (!(to instanceof StagedDirectory)) throw new WorkspaceError("not-permitted");
    to.#view.checkWritable();
    const from = this.#resolve(path, false);
    const target = to.#resolve(toPath, false);
    if (from.kind === "missing") throw new WorkspaceError("no-entry");
    if (from.kind !== "file") throw new WorkspaceError("unsupported", ONLY_FILES);
    if (target.kind !== "missing" && target.kind !== "file") {
      throw new WorkspaceError(target.kind === "directory" ? "is-directory" : "unsupported");
    }
    if (this.#view.pathOf(from) !== to.#view.pathOf(target)) this.#view.move(from, to.#view, target);
  }

  share(): this {
    return this;
  }

  /** The granted directory is closed with the workspace. */
  close(): void {}

  #resolve(path: string, follow: boolean): StagedPlace {
    return resolveStaged(this.#view, this.#path, path, follow);
  }

  /** @throws {WorkspaceError} if it has been removed. */
  #self(): StagedPlace {
    const place = this.#resolve(".", true);
    if (place.kind === "directory") return place;
    throw new WorkspaceError(place.kind === "missing" ? "no-entry" : "not-directory");
  }
}

const ONLY_FILES =
  "only files can be moved while changes wait to be accepted: create the directory and move its files one by one";

/** Whether a path names no entry of its directory. */
function isDots(path: string): boolean {
  const last = pathSegments(path).at(-1);
  return last === "." || last === "..";
}

/** Removes trailing slashes, which a path to a directory may have even before the directory exists. */
function withoutEndSlash(path: string): string {
  return path.length > 1 ? path.replace(/(?<=[^/])\/+$/, "") : path;
}

const KINDS: Readonly<Record<"file" | "directory", EntryKind>> = {
  file: "regular-file",
  directory: "directory",
};

/** Lists what is on the disk without what is hidden, and then what is staged. */
function listStaged(view: StagedView, { path, disk }: StagedPlace): Listing {
  const records = new Map(view.stagedIn(path).map((record) => [record.name, record]));
  const staged = [...records.values()];
  const opened =
    disk === undefined && view.find(path)?.was?.kind !== "directory" ? undefined : view.openDisk(path);
  const listing = opened?.list();
  return {
    next: () => {
      for (let entry = listing?.next(); entry !== undefined; entry = listing?.next()) {
        const isHidden = path === "" && isOwn(entry.name);
        if (!records.has(entry.name) && !isHidden) return entry;
      }
      for (let record = staged.shift(); record !== undefined; record = staged.shift()) {
        if (record.kind !== "gone") return { name: record.name, kind: KINDS[record.kind] };
      }
      return undefined;
    },
    close: () => {
      listing?.close();
      opened?.close();
    },
  };
}
