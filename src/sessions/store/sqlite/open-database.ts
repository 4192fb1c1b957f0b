import type { DatabaseSync } from "node:sqlite";
import { databaseFiles, guardFiles } from "../../../base/guarded-files.ts";
import { databasePath } from "../../../base/open-file-place.ts";
import { createPrivateFile } from "../../../base/private-file.ts";
import { SessionStoreError } from "../session-store-error.ts";
import { bringToFormat } from "./format.ts";
import { readableError } from "./readable-error.ts";

/**
 * Opens a file for this process alone, and creates it if it does not exist. Only its owner can read it, since it has the
 * arguments of calls.
 *
 * @throws {SessionStoreError} if the file cannot be opened, is in use, is corrupt, has a newer format, or is not a store.
 */
export function openDatabase(file: string): DatabaseSync {
  guardFiles(databaseFiles(file));
  // Loaded on use: most processes keep their sessions in memory.
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    createPrivateFile(file);
    const path = databasePath(file);
    guardFiles(databaseFiles(path));
    database = new sqlite.DatabaseSync(path);
    database.exec(
      // Two processes that run the same sessions would run calls twice. The lock ends with the process.
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT",
    );
    const [flaw] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (flaw !== "ok") throw new SessionStoreError(`the file is corrupt: ${String(flaw)}`);
    bringToFormat(database);
    return database;
  } catch (error) {
    if (database?.isOpen) database.close();
    throw new SessionStoreError(`cannot open the session store '${file}': ${readableError(error)}`, {
      cause: error,
    });
  }
}
