import { closeSync, fstatSync, statSync } from "node:fs";
import { WorkspaceError } from "./error.ts";
import { realPath } from "./paths.ts";

/**
 * An open descriptor that is closed exactly once, when its last holder releases it: its number may be reused
 * then.
 */
export class SharedFd {
  readonly #handles: OpenHandles;
  readonly #number: number;
  readonly #closeNumber: (number: number) => void;
  #holders = 1;

  /**
   * @param open Opens the descriptor.
   * @param close Closes it. Default: `closeSync`.
   * @throws {WorkspaceError} `insufficient-memory`, without calling `open`, if too many handles are open.
   */
  constructor(handles: OpenHandles, open: () => number, close: (number: number) => void = closeSync) {
    this.#closeNumber = close;
    handles.checkRoom();
    this.#number = open();
    this.#handles = handles;
    handles.add(this);
  }

  /** @throws {WorkspaceError} `bad-descriptor` if the descriptor is closed. */
  get number(): number {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    return this.#number;
  }

  /** Adds a holder. */
  share(): void {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    this.#holders++;
  }

  /** Releases one holder, and closes the descriptor when the last one is released. */
  release(): void {
    if (this.#holders === 1) this.close();
    else if (this.#holders > 0) this.#holders--;
  }

  /** Closes the descriptor, even if it has holders. */
  close(): void {
    if (this.#holders === 0) return;
    this.#holders = 0;
    this.#handles.delete(this);
    this.#closeNumber(this.#number);
  }
}

/** How long a directory stays open after its last use, and maximum number of open directories. */
const IDLE_MS = 2_000;

const MAX_CACHED = 16;

/** An open granted directory. */
export interface UsedDirectory {
  readonly fd: number;
  /** The device of its file system. */
  readonly device: number;
  /** Ends this use. To be called once. */
  release(): void;
}

/** Opens granted directories. */
export interface DirectorySource {
  /**
   * Opens a directory, or uses one that is open.
   *
   * @param directory An absolute path.
   * @param open Opens it. Whatever it throws is thrown.
   */
  use(directory: string, open: (directory: string) => number): UsedDirectory;
}

/** Opens a directory for each use, and closes it after the use. */
export const OPEN_EACH_TIME: DirectorySource = Object.freeze({
  use(directory: string, open: (directory: string) => number): UsedDirectory {
    const fd = open(directory);
    return { fd, device: fstatSync(fd).dev, release: () => closeSync(fd) };
  },
});

interface Entry {
  readonly fd: number;
  readonly device: number;
  readonly inode: number;
  users: number;
  /** Whether it was used since the last check for directories to close. */
  isRecent: boolean;
}

/**
 * Keeps directories open for later calls, up to four seconds. The calls of an agent have the same workspace,
 * and checking that an open directory is still the one at its path takes less time than opening and checking
 * it.
 */
export class DirectoryCache implements DirectorySource, Disposable {
  /** By their paths. */
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  use(directory: string, open: (directory: string) => number): UsedDirectory {
    if (this.#isClosed) return OPEN_EACH_TIME.use(directory, open);
    let entry = this.#entries.get(directory);
    if (entry !== undefined && !isAt(entry, directory)) {
      this.#drop(directory, entry);
      entry = undefined;
    }
    entry ??= this.#open(directory, open);
    entry.users++;
    entry.isRecent = true;
    const { fd, device } = entry;
    return { fd, device, release: () => this.#release(directory, entry) };
  }

  #open(directory: string, open: (directory: string) => number): Entry {
    const fd = open(directory);
    const { dev: device, ino: inode } = fstatSync(fd);
    const entry = { fd, device, inode, users: 0, isRecent: true };
    if (this.#entries.size >= MAX_CACHED) this.#closeUnused(() => true);
    if (this.#entries.size < MAX_CACHED) this.#entries.set(directory, entry);
    this.#timer ??= setInterval(() => this.#closeOld(), IDLE_MS).unref();
    return entry;
  }

  #release(directory: string, entry: Entry): void {
    entry.users--;
    if (entry.users === 0 && this.#entries.get(directory) !== entry) closeSync(entry.fd);
  }

  /** Closes a directory now, or when its last user releases it. */
  #drop(directory: string, entry: Entry): void {
    this.#entries.delete(directory);
    if (entry.users === 0) closeSync(entry.fd);
  }

  #closeOld(): void {
    this.#closeUnused(({ isRecent }) => !isRecent);
    for (const entry of this.#entries.values()) entry.isRecent = false;
    if (this.#entries.size === 0) this.#stop();
  }

  #closeUnused(isOld: (entry: Entry) => boolean): void {
    for (const [directory, entry] of this.#entries) {
      if (entry.users === 0 && isOld(entry)) this.#drop(directory, entry);
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Closes unused directories. Those in use are closed when their calls end. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#stop();
    for (const [directory, entry] of this.#entries) this.#drop(directory, entry);
  }
}

/** Whether an open directory was not moved or removed, and nothing was mounted over it. */
function isAt({ fd, device, inode }: Entry, directory: string): boolean {
  if (realPath(fd) !== directory) return false;
  const found = statSync(directory, { throwIfNoEntry: false });
  return found !== undefined && found.dev === device && found.ino === inode;
}

/** Maximum number of files and directories that a call can have open at once. */
export const MAX_OPEN = 128;

/**
 * The open files and directories of a call. Their number is bounded, and all are closed when the call ends.
 */
export class OpenHandles {
  readonly #open = new Set<{ close(): void }>();

  /** @throws {WorkspaceError} `insufficient-memory` if {@link MAX_OPEN} handles are open. */
  checkRoom(): void {
    if (this.#open.size >= MAX_OPEN) throw new WorkspaceError("insufficient-memory");
  }

  add(handle: { close(): void }): void {
    this.#open.add(handle);
  }

  delete(handle: { close(): void }): void {
    this.#open.delete(handle);
  }

  /** Closes all open handles. */
  close(): void {
    for (const handle of this.#open) handle.close();
  }
}
