import { closeSync, constants, fsyncSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/**
 * An exclusive lock between processes, which the kernel releases when the process ends for any reason. It is
 * a lock on an empty SQLite database, because Node.js has no API for file locks. The file is not deleted.
 */
export class FileLock implements Disposable {
  readonly #path: string;
  #database: DatabaseSync;
  /** Whether `/proc/locks` shows the lock, which it does not on every system. */
  readonly #isListed: boolean;

  /**
   * @param path The file, which is created if it does not exist.
   * @param waitMs How long to wait for another process, in ms. This blocks the process.
   * @throws what SQLite and the file system throw; if the file is locked, the low byte of `errcode` is 5
   *   (`SQLITE_BUSY`).
   */
  constructor(path: string, waitMs: number) {
    createPrivateFile(path);
    this.#path = path;
    this.#database = lock(path, waitMs);
    this.#isListed = isListed(path);
  }

  /**
   * Acquires the lock again if this process has lost it, which happens when any of its code closes the file.
   *
   * @throws as the constructor does, if another process has taken it.
   */
  renew(): void {
    if (!this.#isListed || isListed(this.#path)) return;
    this[Symbol.dispose]();
    this.#database = lock(this.#path, 0);
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

function lock(path: string, waitMs: number): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(path, { timeout: waitMs });
  try {
    // The last statement fails if this user can only read the file, on which SQLite then has only a shared
    // lock.
    database.exec(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 0",
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether Linux lists a lock of this process on a file: `1: POSIX  ADVISORY  WRITE 24480 fe:00:2162691 0 EOF`. */
function isListed(path: string): boolean {
  try {
    const { ino } = statSync(path, { bigint: true });
    const own = new RegExp(`POSIX .* WRITE ${process.pid} \\S+:${ino} `);
    return own.test(readFileSync("/proc/locks", "utf8"));
  } catch {
    return false;
  }
}

/**
 * Creates an empty file that only its owner can read and write, unless the path exists. It survives a power
 * failure.
 *
 * @throws what the file system throws.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Returns the text of an error about a file whose format is too new for this version.
 *
 * @param found The number in the file.
 * @param newest The newest format that is read.
 */
export function newerFormatText(found: unknown, newest: number): string {
  return (
    `has format ${found}, and this version of sandgate reads formats up to ${newest}: ` +
    "use the version that wrote it, or a newer one"
  );
}

/** Whether the format number of a file belongs to a newer version. */
export function isNewerFormat(found: unknown, newest: number): boolean {
  return typeof found === "number" && found > newest;
}
