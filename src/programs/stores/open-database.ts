import type { DatabaseSync } from "node:sqlite";
import { databaseFiles, guardFiles } from "../../base/guarded-files.ts";
import { databasePath } from "../../base/open-file-place.ts";
import { createPrivateFile, newerFormatText } from "../../base/own-files.ts";
import { SuspensionStoreError } from "./suspension-store.ts";

/** Marks a file as a store of suspended programs: the bytes of `Sgsp`. */
export const APPLICATION_ID: number = 0x53_67_73_70;

/** Each entry brings the tables from the format of its index to the next one. Entries are never changed. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE programs (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    -- Where its call was made: the programs of its calls are found by it.
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    message TEXT NOT NULL,
    call TEXT NOT NULL,
    template TEXT NOT NULL,
    header TEXT NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT;
  CREATE INDEX programs_of_message ON programs (session, turn, message);
  CREATE INDEX programs_of_template ON programs (template);
  CREATE TABLE calls (
    program TEXT NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    sealed BLOB,
    PRIMARY KEY (program, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE templates (
    digest TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;`,
];

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
  // Loaded on use: most processes open no database.
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    if (!readOnly) createPrivateFile(file);
    const path = databasePath(file);
    guardFiles(databaseFiles(path));
    database = new sqlite.DatabaseSync(path, { readOnly, timeout: BUSY_MS });
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

/**
 * Brings a file to the current format; an empty one gets its tables.
 *
 * @throws {SuspensionStoreError} if the file is not a store of suspended programs, or has a newer format.
 */
function bringToFormat(database: DatabaseSync): void {
  // Another process may bring it to the format at the same time.
  database.exec("BEGIN IMMEDIATE");
  try {
    const format = checkFormat(database);
    for (const migration of MIGRATIONS.slice(format)) database.exec(migration);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Returns the format of a file: 0 if it is empty.
 *
 * @throws {SuspensionStoreError} if the file is not a store of suspended programs, or has a newer format.
 */
export function checkFormat(database: DatabaseSync): number {
  const format = pragma(database, "user_version");
  const application = pragma(database, "application_id");
  if (application !== APPLICATION_ID && !(application === 0 && format === 0 && isEmpty(database))) {
    throw new SuspensionStoreError("the file is a database of another program");
  }
  if (format > MIGRATIONS.length) {
    throw new SuspensionStoreError(`the file ${newerFormatText(format, MIGRATIONS.length)}`);
  }
  return format;
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

function pragma(database: DatabaseSync, name: string): number {
  return database.prepare(`PRAGMA ${name}`).get()?.[name] as number;
}
