import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { databaseFiles, guardFiles } from "../base/guarded-files.ts";
import { databasePath } from "../base/open-file-place.ts";
import { createPrivateFile, newerFormatText } from "../base/own-files.ts";
import { freezeJson, type JsonValue } from "../json/value.ts";
import { type Entry, type Key, keyText, RecordError } from "./backend.ts";

/** What a file of entries is for. */
export interface SqliteKind {
  /** What people call it, such as `session store`. */
  readonly name: string;
  /** Marks files of this kind. */
  readonly applicationId: number;
  /** The number of the format: files with a smaller one have tables of an older version. */
  readonly format: number;
  /** Whether one process has it open alone. Otherwise each write waits for those of other processes. */
  readonly isExclusive: boolean;
  /** Returns what a file of an older format has, as entries, in the order in which they were added. */
  readonly convert: (database: DatabaseSync) => Iterable<readonly [key: Key, value: unknown]>;
  /** Bring files that already have entries to the format, each from one format to the next; the last one to `format`. Default: none. */
  readonly upgrades?: readonly string[];
}

/** How long a write waits for that of another process, in ms. */
const BUSY_MS = 5_000;

/** Without row numbers, a write changes half as many pages. `counter` has the greatest version that an entry can have. */
const TABLES = `CREATE TABLE record (
    key TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    value ANY NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE counter (version INTEGER NOT NULL) STRICT;`;

/**
 * Opens a file, and creates it if it does not exist. Only its owner can read it. One of an older format is converted, as a whole
 * or not at all, with a warning of the process.
 *
 * @param isReadOnly Opens a file that exists, and changes nothing. Default: `false`.
 * @throws {RecordError} if the file cannot be opened, is in use, is corrupt, has another format that this cannot read, or is of
 *   another kind.
 */
export function openSqlite(file: string, kind: SqliteKind, isReadOnly = false): DatabaseSync {
  guardFiles(databaseFiles(file));
  // Loaded on use: most processes open no database.
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    if (!isReadOnly) createPrivateFile(file);
    const path = databasePath(file);
    guardFiles(databaseFiles(path));
    const timeout = kind.isExclusive ? 0 : BUSY_MS;
    database = new sqlite.DatabaseSync(path, { readOnly: isReadOnly, timeout });
    if (isReadOnly) {
      if (checkSqliteFormat(database, kind) < kind.format) {
        throw new RecordError("the file has an older format: open it once for writing, which converts it");
      }
      return database;
    }
    // Two processes that run the same sessions would run calls twice. The lock ends with the process.
    const locking = kind.isExclusive ? "EXCLUSIVE" : "NORMAL";
    database.exec(
      `PRAGMA locking_mode = ${locking}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT`,
    );
    const [flaw] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (flaw !== "ok") throw new RecordError(`the file is corrupt: ${String(flaw)}`);
    const before = bringToFormat(database, kind);
    if (before > 0 && before < kind.format) {
      process.emitWarning(
        `The ${kind.name} '${file}' was converted from format ${before} to ${kind.format}, which earlier versions of sandgate do not read`,
        { code: "SANDGATE_STORE_CONVERTED" },
      );
    }
    return database;
  } catch (cause) {
    if (database?.isOpen) database.close();
    throw new RecordError(
      `cannot open the ${kind.name} '${file}': ${sqliteErrorText(cause, kind.isExclusive)}`,
      { cause },
    );
  }
}

/** Returns the format that a file had before; 0 if it was empty. */
function bringToFormat(database: DatabaseSync, kind: SqliteKind): number {
  // Another process may bring it to the format at the same time.
  database.exec("BEGIN IMMEDIATE");
  try {
    const format = checkSqliteFormat(database, kind);
    const upgrades = kind.upgrades ?? [];
    if (format < kind.format && format >= kind.format - upgrades.length) {
      for (const upgrade of upgrades.slice(format - kind.format)) database.exec(upgrade);
      database.exec(`PRAGMA user_version = ${kind.format}`);
    } else if (format < kind.format) {
      const old = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      database.exec(TABLES);
      const version = format === 0 ? 0 : convert(database, kind);
      database.prepare("INSERT INTO counter VALUES (?)").run(version);
      database.exec("PRAGMA defer_foreign_keys = ON");
      for (const { name } of old) {
        if (!String(name).startsWith("sqlite_")) database.exec(`DROP TABLE "${String(name)}"`);
      }
      database.exec(`PRAGMA application_id = ${kind.applicationId}; PRAGMA user_version = ${kind.format}`);
    }
    database.exec("COMMIT");
    return format;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Returns the greatest version. */
function convert(database: DatabaseSync, { convert: read }: SqliteKind): number {
  const insert = database.prepare("INSERT INTO record (key, version, created, value) VALUES (?, ?, ?, ?)");
  let version = 0;
  for (const [key, value] of read(database)) {
    version++;
    insert.run(keyText(key), version, version, sqliteValue(value));
  }
  return version;
}

/** Returns a value as it is stored. */
export function sqliteValue(value: unknown): string | Uint8Array {
  return value instanceof Uint8Array ? value : JSON.stringify(value);
}

/** An entry whose value is parsed when it is used. */
export class SqliteEntry implements Entry {
  readonly version: number;
  readonly created: number;
  /** The length of what is stored. */
  readonly size: number;
  #stored: SQLInputValue | undefined;
  #value: unknown;

  constructor({ value, version, created }: Readonly<Record<string, SQLInputValue>>) {
    this.version = version as number;
    this.created = created as number;
    this.size = (value as string | Uint8Array).length;
    this.#stored = value;
  }

  /** @throws {RecordError} if it was changed, so that it is not JSON. */
  get value(): unknown {
    if (this.#stored !== undefined) {
      this.#value = readValue(this.#stored);
      this.#stored = undefined;
    }
    return this.#value;
  }
}

function readValue(stored: SQLInputValue): unknown {
  if (stored instanceof Uint8Array) return stored;
  try {
    return freezeJson(JSON.parse(stored as string) as JsonValue);
  } catch (cause) {
    throw new RecordError("it has a record that is not JSON", { cause });
  }
}

/** How many recent entries there are at most, and how long what is stored of them is together, in characters or bytes. */
const MAX_RECENT = 1_000;
const MAX_RECENT_SIZE = 1_048_576;

/**
 * The entries of a file that were read or written a short time ago, where this process has it alone: most calls read again what was
 * just written. Forgets all of them when there are too many, or one was removed.
 */
export class RecentEntries {
  readonly #entries = new Map<string, Entry | "absent">();
  #size = 0;

  /** Returns an entry, or that there is none; `undefined` if that is not known. */
  get(key: string): Entry | "absent" | undefined {
    return this.#entries.get(key);
  }

  /** Adds what was read; `undefined` if there is no entry. */
  add(key: string, entry: SqliteEntry | undefined): void {
    this.#set(key, entry ?? "absent", entry?.size ?? 0);
  }

  /** Replaces an entry by one that was written, if it is known which version it began with. */
  put(key: string, value: unknown, version: number, size: number): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#set(key, { value, version, created: before === "absent" ? version : before.created }, size);
  }

  #set(key: string, entry: Entry | "absent", size: number): void {
    // What was replaced counts as well: that only forgets all the sooner.
    this.#size += size;
    if (this.#entries.size >= MAX_RECENT || this.#size > MAX_RECENT_SIZE) this.clear();
    if (size <= MAX_RECENT_SIZE) this.#entries.set(key, entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }
}

/**
 * Returns the format of a file: 0 if it is empty.
 *
 * @throws {RecordError} if the file is of another kind, or has a newer format.
 */
export function checkSqliteFormat(
  database: DatabaseSync,
  { applicationId, format: newest }: Pick<SqliteKind, "applicationId" | "format">,
): number {
  const format = pragma(database, "user_version");
  const application = pragma(database, "application_id");
  if (application !== applicationId && !(application === 0 && format === 0 && isEmpty(database))) {
    throw new RecordError("the file is a database of another program");
  }
  if (format > newest) throw new RecordError(`the file ${newerFormatText(format, newest)}`);
  return format;
}

/**
 * Checks that a file is one of a kind, in a format that this version reads or converts. Changes nothing. A file that another process
 * has open alone passes.
 *
 * @throws {RecordError} if it is not.
 */
export function checkSqliteFile(file: string, kind: SqliteKind): void {
  const sqlite = process.getBuiltinModule("node:sqlite");
  try {
    using database = new sqlite.DatabaseSync(file, { readOnly: true });
    checkSqliteFormat(database, kind);
  } catch (error) {
    // A server has it open, which has checked it.
    if (BUSY.includes(primaryCode(error))) return;
    throw new RecordError(sqliteErrorText(error, kind.isExclusive));
  }
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

function pragma(database: DatabaseSync, name: string): number {
  return database.prepare(`PRAGMA ${name}`).get()?.[name] as number;
}

/** Primary result codes of SQLite: the file, or a table of it, is locked. */
const BUSY: readonly unknown[] = [5, 6];

/** Other primary result codes of SQLite. */
const REASONS = new Map([
  [8, "it cannot be written"],
  [11, "the file is corrupt"],
  [13, "the disk is full"],
  [26, "the file is not a database"],
]);

/** Primary result codes of SQLite for errors of a statement, such as a violated constraint, and not of the file. */
const OF_STATEMENTS: readonly number[] = [1, 18, 19, 20, 21, 25];

/** Whether an error is one of the disk or of the file, so that other statements would fail as well. */
export function isOfDisk(error: unknown): boolean {
  const code = primaryCode(error);
  return code !== undefined && !OF_STATEMENTS.includes(code);
}

function primaryCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: unknown };
  // The low byte is the primary result code.
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Describes an error of SQLite or of the file system, for operators. */
export function sqliteErrorText(error: unknown, isExclusive: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof RecordError) return error.message;
  const code = primaryCode(error);
  if (BUSY.includes(code)) {
    return isExclusive ? "another process or store has it open" : "another process is writing it";
  }
  return REASONS.get(code ?? 0) ?? error.message;
}
