import type { DatabaseSync } from "node:sqlite";
import { databaseFiles, guardFiles } from "../../../base/guarded-files.ts";
import { databasePath } from "../../../base/open-file-place.ts";
import { createPrivateFile, newerFormatText } from "../../../base/own-files.ts";
import { SessionStoreError } from "../../session-errors.ts";
import { readableError } from "./statements.ts";

/** Marks a file as a store of sessions: the bytes of `Sgss`. */
export const APPLICATION_ID: number = 0x53_67_73_73;

/** Each entry brings the tables from the format of its index to the next one. Entries are never changed. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE sessions (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE messages (
    place INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    message TEXT NOT NULL,
    size INTEGER NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (session, turn, message)
  ) STRICT;
  CREATE TABLE calls (
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    message TEXT NOT NULL,
    call TEXT NOT NULL,
    digest TEXT NOT NULL,
    counted INTEGER NOT NULL DEFAULT 0,
    claimed INTEGER NOT NULL DEFAULT 0,
    execution TEXT,
    PRIMARY KEY (session, turn, message, call),
    FOREIGN KEY (session, turn, message) REFERENCES messages (session, turn, message) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE counts (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (session, tool)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE inquiries (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    message TEXT,
    call TEXT NOT NULL,
    nested INTEGER NOT NULL,
    inquiry TEXT NOT NULL,
    resolution TEXT
  ) STRICT;
  CREATE INDEX inquiries_of_turn ON inquiries (session, turn);
  CREATE TABLE approvals (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    approval TEXT NOT NULL,
    calls INTEGER,
    used INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX approvals_of_session ON approvals (session);`,
  `CREATE TABLE ledger (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ended INTEGER,
    record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE ledger_state (missing INTEGER) STRICT;
  -- In a file that has sessions already, the calls before are missing.
  INSERT INTO ledger_state (missing) SELECT CASE WHEN EXISTS (SELECT 1 FROM sessions) THEN NULL ELSE 0 END;`,
  `CREATE TABLE forgotten_turns (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    UNIQUE (session, turn)
  ) STRICT;
  CREATE INDEX forgotten_turns_of_session ON forgotten_turns (session);`,
  `CREATE TABLE removed_approvals (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX removed_approvals_of_session ON removed_approvals (session);`,
];

/**
 * Opens a file for this process alone, and creates it if it does not exist. Only its owner can read it, since it has the
 * arguments of calls.
 *
 * @throws {SessionStoreError} if the file cannot be opened, is in use, is corrupt, has a newer format, or is not a store.
 */
export function openDatabase(file: string): DatabaseSync {
  guardFiles(databaseFiles(file));
  // Loaded on use: most processes store their sessions in memory.
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

/**
 * Checks that a file is a session store whose format this version reads. Changes nothing. A store that another process has
 * open passes.
 *
 * @throws {SessionStoreError} if it is not.
 */
export function checkStoreFile(file: string): void {
  const sqlite = process.getBuiltinModule("node:sqlite");
  try {
    using database = new sqlite.DatabaseSync(file, { readOnly: true });
    checkFormat(database);
  } catch (error) {
    // SQLITE_BUSY: a server has it open, which has checked it.
    if ((error as { errcode?: number }).errcode === 5) return;
    throw error instanceof SessionStoreError ? error : new SessionStoreError(readableError(error));
  }
}

/**
 * Brings a file to the current format; an empty one gets its tables.
 *
 * @throws {SessionStoreError} if the file is not a store of sessions, or has a newer format.
 */
export function bringToFormat(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  const format = checkFormat(database, migrations);
  for (const [index, migration] of migrations.entries()) {
    if (index < format) continue;
    database.exec(`BEGIN IMMEDIATE;
      ${migration}
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${index + 1};
      COMMIT;`);
  }
}

/**
 * Returns the format of a file: 0 if it is empty.
 *
 * @throws {SessionStoreError} if the file is not a store of sessions, or has a newer format.
 */
export function checkFormat(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): number {
  const format = pragma(database, "user_version");
  const application = pragma(database, "application_id");
  if (application !== APPLICATION_ID && !(application === 0 && format === 0 && isEmpty(database))) {
    throw new SessionStoreError("the file is a database of another program");
  }
  if (format > migrations.length) {
    throw new SessionStoreError(`the file ${newerFormatText(format, migrations.length)}`);
  }
  return format;
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

function pragma(database: DatabaseSync, name: string): number {
  return database.prepare(`PRAGMA ${name}`).get()?.[name] as number;
}
