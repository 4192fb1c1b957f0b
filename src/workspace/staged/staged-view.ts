import type { Hash } from "node:crypto";
import { posix } from "node:path";
import { loadCrypto } from "../../base/load-crypto.ts";
import type { WritesProtected } from "../../policy/grant/fs-grant.ts";
import { ChangeBudget } from "../change-budget.ts";
import { openDirectory, openFile } from "../entries.ts";
import type { EntryStat } from "../entry-stat.ts";
import { GuardedFileError, ProtectedPlaceError, WorkspaceError } from "../error.ts";
import { MAX_READ_BYTES, WorkspaceFile } from "../file.ts";
import { repositoryPlace, unopenedPlace } from "../granted-protected.ts";
import { Guard } from "../guard.ts";
import { OPEN_EACH_TIME, type OpenHandles } from "../open-handles.ts";
import { type OpenOptions, openPath } from "../open-path.ts";
import { namesIn } from "../paths.ts";
import { WorkspaceRoot } from "../root.ts";
import type { NewVersion, ToolDirectory } from "../tool-directory.ts";
import type { StagedMount } from "./staged-mount.ts";
import type { StagedLookup, StagedPlace } from "./staged-path.ts";
import type { StagedQuota } from "./staged-quota.ts";
import {
  type DiskEntry,
  type SeenVersions,
  type StagedEntry,
  type StagedRecord,
  versionOf,
} from "./staged-record.ts";
import type { StagedStore } from "./staged-store.ts";

/** A granted directory of the workspace. */
export interface StagedViewOptions {
  /** The granted directory as it is on the disk. */
  readonly disk: ToolDirectory;
  /** Its absolute path. */
  readonly directory: string;
  /** The path that the grant names: the directory, or a file in it. */
  readonly named: string;
  readonly writesProtected?: WritesProtected | undefined;
  /** Its path in the workspace: empty for the workspace itself. */
  readonly prefix: string;
  readonly isWritable: boolean;
  readonly contents: StagedContents;
  readonly seen: SeenVersions;
  /** Told of each path in the workspace that is changed, and whether there was something. */
  readonly touch: (path: string, existed: boolean) => void;
}

/** The changes in a granted directory: what is done with one place at a time. */
export class StagedView implements StagedLookup {
  readonly #options: StagedViewOptions;

  constructor(options: StagedViewOptions) {
    this.#options = options;
  }

  get disk(): ToolDirectory {
    return this.#options.disk;
  }

  get isWritable(): boolean {
    return this.#options.isWritable;
  }

  /** @throws {WorkspaceError} `read-only` if the grant does not allow writing. */
  checkWritable(): void {
    if (!this.isWritable) throw new WorkspaceError("read-only");
    this.#checkUnlocked();
  }

  #checkUnlocked(): void {
    if (this.#contents.store.isLocked) throw new WorkspaceError("busy", LOCKED);
  }

  find(path: string): StagedRecord | undefined {
    return this.#contents.store.find(this.#inWorkspace(path));
  }

  /** The path of a place in the workspace. */
  pathOf({ path }: StagedPlace): string {
    return this.#inWorkspace(path);
  }

  /** Returns what is staged of the entries of a directory. */
  stagedIn(path: string): readonly { readonly name: string; readonly kind: StagedEntry["kind"] }[] {
    const records = this.#contents.store.in(this.#inWorkspace(path) || ".");
    return records.map(({ path: entry, now }) => ({ name: posix.basename(entry), kind: now.kind }));
  }

  /** Opens a directory on the disk; `undefined` if it is no longer there. */
  openDisk(path: string): ToolDirectory | undefined {
    try {
      return openDirectory(this.disk, path || ".");
    } catch (error) {
      if (error instanceof WorkspaceError && error.code === "no-entry") return undefined;
      throw error;
    }
  }

  statOf({ kind, record, disk }: StagedPlace): EntryStat {
    if (kind === "missing") throw new WorkspaceError("no-entry");
    if (record?.now.kind !== "file") return disk ?? NEW_DIRECTORY;
    const file = this.#contents.open(record.now.content, { read: true });
    try {
      return file.stat();
    } finally {
      file.close();
    }
  }

  /** Opens a file for reading only. */
  read({ path, record }: StagedPlace, { read }: OpenOptions): WorkspaceFile {
    if (record?.now.kind === "file") return this.#contents.open(record.now.content, { read: read ?? false });
    const file = openFile(this.disk, path, { read: read ?? false, links: "refused" });
    this.#options.seen.add(this.#inWorkspace(path), versionOf(file.stat()));
    return file;
  }

  /** Opens a file for writing: of one on the disk, a copy. */
  change(place: StagedPlace, { read = false }: OpenOptions): WorkspaceFile {
    this.#checkUnprotected(place);
    const content = place.record?.now.kind === "file" ? place.record.now.content : this.#copy(place);
    this.#options.touch(this.pathOf(place), true);
    return this.#contents.open(content, { read, write: true });
  }

  createFile(place: StagedPlace, { read = false }: OpenOptions): WorkspaceFile {
    this.#checkUnprotected(place);
    const { content, file } = this.#contents.create();
    file.close();
    try {
      this.#stage(place, { kind: "file", content });
    } catch (error) {
      this.#contents.remove(content);
      throw error;
    }
    return this.#contents.open(content, { read, write: true });
  }

  /** Begins a new version of a file. */
  replace(place: StagedPlace): NewVersion {
    this.#checkUnprotected(place);
    const { content, file } = this.#contents.create();
    let isPending = true;
    return {
      file,
      commit: () => {
        this.#stage(place, { kind: "file", content });
        isPending = false;
      },
      [Symbol.dispose]: () => {
        file.close();
        if (isPending) this.#contents.remove(content);
        isPending = false;
      },
    };
  }

  createDirectory(place: StagedPlace): void {
    this.#checkUnprotected(place);
    this.#stage(place, { kind: "directory" });
  }

  remove(place: StagedPlace): void {
    this.#checkUnprotected(place);
    this.#stage(place, { kind: "gone" });
  }

  /** Moves a file, which may replace another one. */
  move(place: StagedPlace, to: StagedView, target: StagedPlace): void {
    this.#checkUnprotected(place);
    to.#checkUnprotected(target);
    const source = this.read(place, { read: true });
    try {
      using version = to.replace(target);
      readDisk(source, version.file);
      version.commit();
    } finally {
      source.close();
    }
    this.#stage(place, { kind: "gone" });
  }

  get #contents(): StagedContents {
    return this.#options.contents;
  }

  #inWorkspace(path: string): string {
    return posix.join(this.#options.prefix, path).replace(/^\.$/, "");
  }

  /** @throws {ProtectedPlaceError} as for a place on the disk: see `WorkspaceRoot`. */
  #checkUnprotected({ path, aliases }: StagedPlace): void {
    const own = namesIn(this.#options.directory);
    const { writesProtected } = this.#options;
    const grant = { named: namesIn(this.#options.named), writesProtected };
    for (const names of [namesIn(path), ...aliases]) {
      const found = unopenedPlace([...own, ...names], grant, true);
      if (found !== undefined) throw new ProtectedPlaceError(found);
    }
    const guard = Guard.current();
    const whole = posix.join(this.#options.directory, path);
    const access = guard?.accessTo(whole) ?? (guard?.isAbove(whole) ? "read" : undefined);
    if (access !== undefined) throw new GuardedFileError(access);
    const repository = repositoryPlace([...own, ...namesIn(path)], grant, (names) =>
      this.#exists(names.slice(own.length).join("/")),
    );
    if (repository !== undefined) throw new ProtectedPlaceError(repository);
  }

  #exists(path: string): boolean {
    const staged = this.find(path);
    if (staged !== undefined) return staged.now.kind !== "gone";
    try {
      this.disk.stat(path);
      return true;
    } catch (error) {
      if (error instanceof WorkspaceError) return false;
      throw error;
    }
  }

  /** Holds a copy of a file, to be changed. Returns the name of its contents. */
  #copy(place: StagedPlace): string {
    const { content, file } = this.#contents.create();
    try {
      const was = this.#readDisk(place, file);
      this.#contents.room.acquire(0, 1);
      this.#contents.store.put({ path: this.pathOf(place), was, now: { kind: "file", content } });
      return content;
    } catch (error) {
      this.#contents.remove(content);
      throw error;
    } finally {
      file.close();
    }
  }

  /** Stages a change. `was` of its record stays what was on the disk before the first change. */
  #stage(place: StagedPlace, now: StagedEntry): void {
    this.#checkUnlocked();
    const path = this.pathOf(place);
    // Another call of the session can have changed it since the path was resolved.
    const before = this.find(place.path);
    if (before === undefined) this.#contents.room.acquire(0, 1);
    try {
      const was = before === undefined ? this.#onDisk(place) : before.was;
      const record: StagedRecord = { path, was, now };
      this.#contents.store.put(record);
      this.#options.touch(path, place.kind !== "missing");
      if (isNoChange(record) && this.#contents.store.remove(record)) this.#contents.room.release(0, 1);
    } catch (error) {
      if (before === undefined) this.#contents.room.release(0, 1);
      throw error;
    }
    if (before?.now.kind === "file") this.#contents.remove(before.now.content);
  }

  #onDisk(place: StagedPlace): DiskEntry | null {
    switch (place.kind) {
      case "missing":
        return null;
      case "directory":
        return { kind: "directory" };
      case "link":
        return { kind: "link", target: this.disk.readLink(place.path) };
      default:
        return this.#readDisk(place);
    }
  }

  #readDisk({ path }: StagedPlace, copy?: WorkspaceFile): DiskEntry {
    const file = openFile(this.disk, path, { read: true, links: "refused" });
    try {
      const version = versionOf(file.stat());
      const entry = readDisk(file, copy);
      const seen = this.#options.seen.get(this.#inWorkspace(path));
      return seen === undefined || seen === version ? entry : { ...entry, isStale: true };
    } finally {
      file.close();
    }
  }
}

const LOCKED = "the user is accepting or rejecting changes: try again";

/** Whether a change and a later one of the same place have undone each other. */
function isNoChange({ was, now }: StagedRecord): boolean {
  if (now.kind === "gone") return was === null;
  return now.kind === "directory" && was?.kind === "directory";
}

/** A directory that is only staged has no times. */
const NEW_DIRECTORY: EntryStat = Object.freeze({
  kind: "directory",
  size: 0n,
  links: 1n,
  accessedAt: 0n,
  modifiedAt: 0n,
  changedAt: 0n,
  identity: "staged",
});

/** Counts what is written to staged contents, against the limits of the call and those of staged changes. */
class StagedBudget extends ChangeBudget {
  readonly #call: ChangeBudget;
  readonly #room: StagedQuota;

  constructor(call: ChangeBudget, room: StagedQuota) {
    super(Number.POSITIVE_INFINITY);
    this.#call = call;
    this.#room = room;
  }

  override change(bytes = 0): void {
    this.#room.acquire(bytes, 0);
    try {
      this.#call.change(bytes);
    } catch (error) {
      this.#room.release(bytes, 0);
      throw error;
    }
  }

  override create(): void {
    this.#call.create();
  }
}

/**
 * The largest file whose change can be staged: it is read as a whole to detect changes by other processes.
 */
const MAX_STAGED_FILE_BYTES: number = 64 * 1_024 * 1_024;

/** The staged contents, opened for one call. */
export class StagedContents {
  readonly store: StagedStore;
  readonly room: StagedQuota;
  readonly #root: WorkspaceRoot;

  /** @throws {DirectoryGrantError} if the folder cannot be used. */
  constructor({ store, room }: StagedMount, handles: OpenHandles, budget: ChangeBudget) {
    this.store = store;
    this.room = room;
    const grant = { directory: this.store.contents, write: true };
    this.#root = new WorkspaceRoot(grant, handles, new StagedBudget(budget, this.room), {
      index: 0,
      directories: OPEN_EACH_TIME,
    });
  }

  /** Opens staged contents, or creates them. */
  open(content: string, options: OpenOptions): WorkspaceFile {
    const opened = openPath(this.#root, this.#root.fd.number, content, { ...options, links: "refused" });
    if (opened instanceof WorkspaceFile) return opened;
    opened.fd.release();
    throw new WorkspaceError("io");
  }

  /** Creates contents with a new name, for writing. */
  create(): { readonly content: string; readonly file: WorkspaceFile } {
    const content = this.store.newContent();
    return { content, file: this.open(content, { read: true, write: true, create: true, exclusive: true }) };
  }

  /** Removes contents that no record names any more. */
  remove(content: string): void {
    this.room.release(this.store.removeContent(content), 0);
  }
}

/**
 * Reads a whole file from the disk, to detect later whether other processes have changed it.
 *
 * @param copy Where its contents are copied. Default: nowhere.
 */
function readDisk(file: WorkspaceFile, copy?: WorkspaceFile): Extract<DiskEntry, { kind: "file" }> {
  const hash: Hash = loadCrypto().createHash("sha256");
  let bytes = 0;
  for (;;) {
    const chunk = file.read(bytes, MAX_READ_BYTES);
    if (chunk.length === 0) return { kind: "file", sha256: hash.digest("hex"), bytes };
    if (bytes + chunk.length > MAX_STAGED_FILE_BYTES) {
      throw new WorkspaceError("file-too-large", "changes of files larger than 64 MiB cannot be staged");
    }
    hash.update(chunk);
    copy?.write(bytes, chunk);
    bytes += chunk.length;
  }
}
