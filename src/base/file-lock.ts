import type { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./private-file.ts";

/**
 * Keeps other processes from taking the same lock. It is one of the kernel on an empty SQLite database, because Node.js has no
 * function for file locks: it ends with the process, however the process ends. The file stays.
 */
export class FileLock implements Disposable {
  readonly #database: DatabaseSync;

  /**
   * @param path Of the file, which is created if it does not exist.
   * @param waitMs How long to wait for another process, in ms. This process does nothing else meanwhile.
   * @throws what SQLite and the file system throw; with `errcode` 5 as its low byte (`SQLITE_BUSY`) if it is locked.
   */
  constructor(path: string, waitMs: number) {
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    createPrivateFile(path);
    this.#database = new DatabaseSync(path, { timeout: waitMs });
    try {
      // The last statement fails if this user can only read the file, of which SQLite has only a shared lock then.
      this.#database.exec(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 0",
      );
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}
