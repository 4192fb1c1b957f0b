import type { DatabaseSync } from "node:sqlite";
import { databaseFiles, guardFiles } from "../../../base/guarded-files.ts";
import { createPrivateFile } from "../../../base/private-file.ts";
import { SuspensionStoreError } from "../suspension-store.ts";
import { bringToFormat, checkFormat } from "./format.ts";

/** How long a write waits for that of another process, in ms. */
const BUSY_MS = 5_000;

/**
 * Opens a file, and creates it if it does not exist. Only its owner can read it. Other processes can have it open at the
 * same time.
 *
 * @param readOnly Opens a file that exists, and changes nothing.
 * @throws {SuspensionStoreError} if the file cannot be opened, is corrupt, has a newer format, or is not a store.
 */
export function openDatabase(file: string, readOnly: boolean): DatabaseSync {
  guardFiles(databaseFiles(file));
  // Loaded on use: most processes keep nothing.
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    if (!readOnly) createPrivateFile(file);
    database = new sqlite.DatabaseSync(file, { readOnly, timeout: BUSY_MS });
    if (readOnly) {
      checkFormat(database);
      return database;
    }
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    const [flaw] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (flaw !== "ok") throw new SuspensionStoreError(`the file is corrupt: ${String(flaw)}`);
    bringToFormat(database);
    return database;
  } catch (error) {
    if (database?.isOpen) database.close();
    throw new SuspensionStoreError(`cannot open the store of programs '${file}': ${readableError(error)}`, {
      cause: error,
    });
  }
}

/** Primary result codes of SQLite. */
const REASONS = new Map([
  [5, "another process is writing it"],
  [6, "another process is writing it"],
  [8, "it cannot be written"],
  [11, "the file is corrupt"],
  [13, "the disk is full"],
  [26, "the file is not a database"],
]);

/** Describes an error of SQLite or of the file system, for operators. */
export function readableError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errcode } = error as { readonly errcode?: unknown };
  return REASONS.get(typeof errcode === "number" ? errcode & 0xff : 0) ?? error.message;
}
