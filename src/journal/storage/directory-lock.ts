import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { OpenFilePlace } from "../../base/open-file-place.ts";
import { createPrivateFile } from "../../base/private-file.ts";
import { JournalError } from "../journal-error.ts";

/**
 * Keeps other processes from writing to a directory. The lock is one of the kernel on an empty SQLite database, because
 * Node.js has no function for file locks: it ends with the process, however the process ends.
 */
export class DirectoryLock implements Disposable {
  readonly #database: DatabaseSync;
  readonly #place: OpenFilePlace;

  /** @throws {JournalError} if the directory is locked, or the lock cannot be written. */
  constructor(directory: string) {
    const path = join(directory, "lock");
    this.#database = lock(directory, path);
    this.#place = new OpenFilePlace(path);
  }

  /** Why another process could write to the directory; `undefined` if none can. */
  get problem(): string | undefined {
    const { problem } = this.#place;
    return problem === undefined ? undefined : `the journal is no longer locked: ${problem}`;
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

function lock(directory: string, path: string): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    createPrivateFile(path);
    database = new DatabaseSync(path, { timeout: 0 });
    // The last statement fails if this user can only read the file, of which SQLite has only a shared lock then.
    database.exec(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 0",
    );
    return database;
  } catch (error) {
    database?.close();
    throw new JournalError(whyNotLocked(directory, path, error));
  }
}

/** Both errors of SQLite and of the file system get here. */
function whyNotLocked(directory: string, path: string, error: unknown): string {
  const { code = "", errcode, message } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  // The low byte is the primary result code.
  const primary = (errcode ?? 0) & 0xff;
  if (primary === SQLITE_BUSY)
    return `the journal in '${directory}' is open already, in this process or in another one`;
  if (primary === SQLITE_READONLY || primary === SQLITE_CANTOPEN)
    return `the journal in '${directory}' cannot be opened: this user cannot write '${path}'`;
  if (["EACCES", "EPERM", "EROFS"].includes(code))
    return `the journal in '${directory}' cannot be opened: this user cannot write to that folder (${code})`;
  return `the journal in '${directory}' cannot be locked: ${message}`;
}

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;
