import { basename, dirname, isAbsolute } from "node:path";
import { setImmediate } from "node:timers/promises";
import { TextFinder } from "../../../base/text-finder.ts";
import { type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import type { Changes } from "../../../tool/changes.ts";
import { FileFailure, shownPath, WorkspaceEscapeError } from "../../../tool/tool-failure.ts";
import type { FileEntry, FileStat, WorkspaceFiles } from "../../../tool/workspace-files.ts";
import {
  describeEntry,
  describeKind,
  openDirectory,
  openFile,
  removeEntry,
} from "../../../workspace/entries.ts";
import { EscapeError, WorkspaceError } from "../../../workspace/error.ts";
import { type Location, locate } from "../../../workspace/locate.ts";
import { DirectoryCache } from "../../../workspace/open-handles.ts";
import { type MountedDirectory, Workspace, type WorkspaceOptions } from "../../../workspace/workspace.ts";
import type { StageChanges, StagedFiles } from "../../contract/staged-changes.ts";
import { outsideOfTool } from "./file-access-log.ts";
import { readAll, readRange, readText } from "./read-contents.ts";

/** The longest listing, and how much of it is read in a turn of the event loop. */
const MAX_ENTRIES = 100_000;

const ENTRIES_PER_TURN = 1_000;

/** How far occurrences of a text are counted. */
const MAX_COUNT = 1_000;

/**
 * The files of one call of a host tool. Paths are resolved and files are opened synchronously, since no other step may
 * come in between; contents are read and written without blocking the thread.
 */
export class HostFiles implements WorkspaceFiles {
  readonly #grants: readonly FsGrant[];
  readonly #workspace: Workspace;
  #running = 0;
  #hasEnded = false;

  /**
   * @param fileBytes The limit of the call. Default: none.
   * @throws {DirectoryGrantError} if a granted directory cannot be used.
   */
  constructor(
    grants: readonly FsGrant[],
    fileBytes: number = Number.POSITIVE_INFINITY,
    options: WorkspaceOptions = {},
  ) {
    this.#grants = grants;
    this.#workspace = new Workspace(grants, fileBytes, options);
  }

  /** Bytes that the call has written. */
  get writtenBytes(): number {
    return this.#workspace.writtenBytes;
  }

  /** What the call has changed so far; `undefined` if it may change nothing. */
  get changes(): Changes | undefined {
    return this.#workspace.changes;
  }

  read(path: string): Promise<string> {
    return this.#do("read", path, readText);
  }

  readBytes(path: string): Promise<Uint8Array> {
    return this.#do("read", path, readAll);
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#do("read", path, (at) => readRange(at, offset, length));
  }

  write(path: string, text: string): Promise<void> {
    return this.#do("write", path, (at) => this.#replace(at, Buffer.from(textOf(text))));
  }

  writeBytes(path: string, bytes: Uint8Array): Promise<void> {
    return this.#do("write", path, (at) => this.#replace(at, Uint8Array.from(bytes)));
  }

  append(path: string, text: string): Promise<void> {
    return this.#do("append to", path, async ({ directory, path: name }) => {
      const file = openFile(directory, name, { write: true, create: true, follow: true });
      try {
        const appender = file.openForAppending();
        try {
          await appender.writeLater(Buffer.from(textOf(text)));
        } finally {
          appender.close();
        }
      } finally {
        file.close();
      }
    });
  }

  patch(path: string, old: string, text: string): Promise<void> {
    return this.#do("patch", path, async (at) => {
      const whole = await readText(at);
      const finder = textOf(old) === "" ? undefined : new TextFinder(old);
      const times = finder?.countIn(whole, MAX_COUNT + 1) ?? 0;
      if (finder === undefined || times !== 1) {
        throw new FileFailure("invalid", `Cannot patch '${shownPath(path)}': the text ${occurrences(times)}`);
      }
      const start = finder.indexIn(whole);
      const patched = whole.slice(0, start) + textOf(text) + whole.slice(start + old.length);
      await this.#replace(at, Buffer.from(patched));
    });
  }

  exists(path: string): Promise<boolean> {
    return this.#do("stat", path, ({ directory, path: name }) => {
      try {
        directory.stat(name);
        return true;
      } catch (error) {
        if (error instanceof WorkspaceError && ["no-entry", "not-directory"].includes(error.code))
          return false;
        throw error;
      }
    });
  }

  stat(path: string): Promise<FileStat> {
    return this.#do("stat", path, ({ directory, path: name }) => describeEntry(directory, name));
  }

  list(path: string): Promise<readonly FileEntry[]> {
    return this.#do("list", path, listEntries);
  }

  mkdir(path: string): Promise<void> {
    return this.#do("create", path, ({ directory, path: name }) => directory.createDirectory(name));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do("rename", from, (source) =>
      this.#do("rename to", to, (target) =>
        source.directory.rename(source.path, target.directory, target.path),
      ),
    );
  }

  delete(path: string): Promise<void> {
    return this.#do("delete", path, ({ directory, path: name }) => removeEntry(directory, name));
  }

  /** Ends the call: nothing changes any more. Whatever is still being read or written is closed when that ends. */
  end(): void {
    this.#hasEnded = true;
    this.#closeIfDone();
  }

  async #replace({ directory, path }: Location, bytes: Uint8Array): Promise<void> {
    using replacement = directory.replace(path, { create: true });
    await replacement.file.writeLater(0, bytes);
    await replacement.file.syncLater();
    if (this.#hasEnded) throw new WorkspaceError("bad-descriptor", "the call has ended");
    replacement.commit();
  }

  /** Runs one operation. Rejects only with errors that the tool may see. */
  async #do<Result>(
    operation: string,
    path: string,
    act: (at: Location) => Result | Promise<Result>,
  ): Promise<Result> {
    this.#running++;
    try {
      if (this.#hasEnded) throw new WorkspaceError("bad-descriptor", "the call has ended");
      const at = findPath(this.#workspace.directories, this.#grants, textOf(path));
      return await outsideOfTool(() => act(at));
    } catch (error) {
      throw readError(operation, path, error);
    } finally {
      this.#running--;
      this.#closeIfDone();
    }
  }

  /** A descriptor that is still in use must not be closed: its number could then stand for another file. */
  #closeIfDone(): void {
    if (this.#hasEnded && this.#running === 0) this.#workspace[Symbol.dispose]();
  }
}

async function listEntries({ directory, path }: Location): Promise<readonly FileEntry[]> {
  const opened = openDirectory(directory, path);
  try {
    const listing = opened.list();
    try {
      const entries: FileEntry[] = [];
      for (let entry = listing.next(); entry !== undefined; entry = listing.next()) {
        if (entries.length >= MAX_ENTRIES) {
          throw new WorkspaceError("file-too-large", `it has more than ${MAX_ENTRIES} entries`);
        }
        entries.push({ name: entry.name, kind: describeKind(entry.kind) });
        if (entries.length % ENTRIES_PER_TURN === 0) await setImmediate();
      }
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } finally {
      listing.close();
    }
  } finally {
    opened.close();
  }
}

function occurrences(times: number): string {
  if (times === 0) return "does not occur";
  return times > MAX_COUNT ? `occurs more than ${MAX_COUNT} times` : `occurs ${times} times`;
}

/** The types of a tool in JavaScript are not checked. */
function textOf(text: unknown): string {
  if (typeof text !== "string") throw new TypeError("context.files takes only strings as paths and texts");
  return text;
}

function readError(operation: string, path: string, error: unknown): unknown {
  if (error instanceof EscapeError) return new WorkspaceEscapeError(path);
  if (error instanceof WorkspaceError) {
    return new FileFailure(error.code, `Cannot ${operation} '${shownPath(path)}': ${error.message}`);
  }
  if (error instanceof TypeError || error instanceof FileFailure || error instanceof WorkspaceEscapeError)
    return error;
  return new FileFailure("io", `Cannot ${operation} '${shownPath(path)}': it cannot be used now`);
}

/**
 * Finds what a path of a host tool is relative to: see `WorkspaceFiles`.
 *
 * @param mounted The open directories of the grants.
 * @throws {EscapeError} if nothing is granted there.
 */
function findPath(mounted: readonly MountedDirectory[], grants: readonly FsGrant[], path: string): Location {
  if (path === "" || !isAbsolute(path)) return findRelative(mounted, path);
  const named = mounted.filter(({ at }) => at !== "/");
  return locateOr(named, path, () => findReal(mounted, grants, path));
}

function findRelative(mounted: readonly MountedDirectory[], path: string): Location {
  const [first] = mounted;
  return locateOr(mounted, `/${path}`, () => {
    if (first === undefined) throw new EscapeError();
    return { directory: first.directory, path };
  });
}

/** Finds a path of this machine. */
function findReal(mounted: readonly MountedDirectory[], grants: readonly FsGrant[], path: string): Location {
  const directories: MountedDirectory[] = [];
  for (const grant of grants) {
    const { at = "/" } = grant;
    const place = isFileGrant(grant) ? dirname(at) : at;
    const directory = mounted.find((each) => each.at === place)?.directory;
    if (directory === undefined) continue;
    if (!isFileGrant(grant)) directories.push({ at: grant.directory, directory });
    else if (grant.file === path) return { directory, path: basename(at) };
  }
  return locate(directories, path);
}

function locateOr(mounted: readonly MountedDirectory[], path: string, otherwise: () => Location): Location {
  try {
    return locate(mounted, path);
  } catch (error) {
    if (!(error instanceof EscapeError)) throw error;
    return otherwise();
  }
}

/** Opens the files of calls. Granted directories stay open for a few seconds. */
export class CallFiles implements Disposable {
  readonly #directories = new DirectoryCache();

  /**
   * Opens the files of a call: those on disk, or those in which changes are staged.
   *
   * @throws {DirectoryGrantError} if a granted directory cannot be used, and what `stage` throws.
   */
  open(
    grants: readonly FsGrant[],
    fileBytes: number | undefined,
    stage: StageChanges | undefined,
  ): StagedFiles {
    const disk = new HostFiles(grants, fileBytes, { directories: this.#directories });
    if (stage === undefined) return new DiskFiles(disk);
    try {
      return new FilesOverDisk(stage({ files: disk, grants, fileBytes }), disk);
    } catch (error) {
      disk.end();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#directories[Symbol.dispose]();
  }
}

class DiskFiles implements StagedFiles {
  readonly files: HostFiles;

  constructor(files: HostFiles) {
    this.files = files;
  }

  get writtenBytes(): number {
    return this.files.writtenBytes;
  }

  get changes(): StagedFiles["changes"] {
    return this.files.changes;
  }

  end(): void {
    this.files.end();
  }
}

class FilesOverDisk implements StagedFiles {
  readonly #staged: StagedFiles;
  readonly #disk: HostFiles;

  constructor(staged: StagedFiles, disk: HostFiles) {
    this.#staged = staged;
    this.#disk = disk;
  }

  get files(): StagedFiles["files"] {
    return this.#staged.files;
  }

  get writtenBytes(): number {
    return this.#staged.writtenBytes;
  }

  get changes(): StagedFiles["changes"] {
    return this.#staged.changes;
  }

  end(): void {
    try {
      this.#staged.end();
    } finally {
      this.#disk.end();
    }
  }
}
