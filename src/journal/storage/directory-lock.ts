import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { JournalError } from "../journal-error.ts";

/**
 * Keeps other processes from writing to a directory. The lock is one of the kernel on an empty SQLite database, because
 * Node.js has no function for file locks: it ends with the process, however the process ends.
 */
export class DirectoryLock implements Disposable {
  readonly #database: DatabaseSync;

  /** @throws {JournalError} if the directory is locked, or the lock cannot be written. */
  constructor(directory: string) {
    this.#database = lock(directory);
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

function lock(directory: string): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(directory, "lock"), { timeout: 0 });
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database?.close();
    const { errcode, message } = error as Error & { readonly errcode?: number };
    throw new JournalError(
      errcode === SQLITE_BUSY
        ? `the journal in '${directory}' is open already, in this process or in another one`
        : `the journal in '${directory}' cannot be locked: ${message}`,
    );
  }
}

const SQLITE_BUSY = 5;
