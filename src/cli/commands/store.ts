import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { databaseFiles } from "../../base/guarded-files.ts";
import { databasePath } from "../../base/open-file-place.ts";
import { PROGRAMS_FILE } from "../../programs/stores/sqlite-store.ts";
import { RecordError } from "../../record/backend.ts";
import { checkSqliteFormat } from "../../record/sqlite-file.ts";
import { shown } from "../../rendering/shown.ts";
import { SESSIONS_FILE } from "../../sessions/store/sqlite-store.ts";
import { UsageError } from "../errors.ts";
import { showProgress } from "../progress.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal.ts";

const KINDS = [
  { kind: "sessions", file: SESSIONS_FILE },
  { kind: "programs", file: PROGRAMS_FILE },
] as const;

/** How often a store is copied again that its server changes too fast. */
const ATTEMPTS = 20;
const ATTEMPT_DELAY_MS = 100;

const SQLITE_BUSY = 5;

/**
 * Copies a store of sessions or programs as it is at one moment, even while a server has it open. The copy is
 * one file, which only its owner can read, and appears at its path when it is complete and on the disk.
 *
 * @throws {UsageError} if the file is not a store, the target exists or belongs to the store, or copying
 *   fails.
 */
export async function backup(
  { file, target }: { readonly file: string; readonly target: string },
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const source = sourceOf(file);
  checkTarget(source, target);
  const { kind, bytes } = await copy(source, target, stderr).catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
    throw new UsageError(shown`cannot copy the store '${file}': ${(error as Error).message}`);
  });
  await print(stdout, shown`copied the store of ${kind} '${file}' to '${target}' (${String(bytes)} bytes)`);
  return EXIT_OK;
}

function sourceOf(file: string): string {
  try {
    // Anything else could be read without an end, or would wait for a writer.
    if (!statSync(file).isFile()) throw new Error("it is not a file");
    return databasePath(file);
  } catch (error) {
    throw new UsageError(shown`cannot read the store '${file}': ${(error as Error).message}`);
  }
}

function checkTarget(source: string, target: string): void {
  let folder: string;
  try {
    folder = realpathSync(dirname(target));
  } catch (error) {
    throw new UsageError(shown`cannot write to '${target}': ${(error as Error).message}`);
  }
  const place = join(folder, basename(target));
  if (databaseFiles(source).some(({ path }) => path === place)) {
    throw new UsageError(shown`'${target}' belongs to the store itself: name another file`);
  }
  // SQLite would take a log of another database that is beside the copy for its own.
  const [existing] = databaseFiles(place).filter(({ path }) => lstatSync(path, { throwIfNoEntry: false }));
  if (existing) {
    throw new UsageError(
      shown`'${existing.path}' exists, and is not overwritten: name a new file, or remove it`,
    );
  }
}

async function copy(
  source: string,
  target: string,
  stderr: Terminal["stderr"],
): Promise<{ readonly kind: string; readonly bytes: number }> {
  // Others can neither read in this folder nor put anything there.
  const folder = mkdtempSync(join(dirname(target), ".sandgate-backup-"));
  try {
    using _ = showProgress({ stderr }, "copying the store");
    const file = join(folder, "store");
    await copyAtOneMoment(source, file);
    const kind = finish(file);
    const bytes = statSync(file).size;
    publish(file, target);
    return { kind, bytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Copies a database as it is at one moment, with its log beside it if it was not copied by SQLite.
 *
 * @throws {UsageError} if the store is changed too fast.
 */
async function copyAtOneMoment(source: string, file: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await delay(ATTEMPT_DELAY_MS);
    if ((await copyBySqlite(source, file)) || copyFiles(source, file)) return;
    for (const { path } of databaseFiles(file)) rmSync(path, { force: true });
  }
  throw new UsageError(
    shown`the store '${source}' is written too fast to be copied: try again when there is less to do`,
  );
}

/** Copies a database with SQLite's own means. Returns `false` if a server has it open for itself alone, as a store of sessions. */
async function copyBySqlite(source: string, file: string): Promise<boolean> {
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    database = new sqlite.DatabaseSync(source, { readOnly: true });
    kindOf(database);
    // In one step, as it begins again whenever another process writes between two.
    await sqlite.backup(database, file, { rate: 2 ** 31 - 1 });
    return true;
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return false;
    throw error;
  } finally {
    if (database?.isOpen) database.close();
  }
}

/**
 * Copies the file of a database and then its log, without a lock. Whatever a checkpoint writes to the file meanwhile is also in the log,
 * and takes precedence there, until the log begins anew. It then has other numbers in its header.
 *
 * @returns `false` if the log began anew, so that the copies may not belong together.
 */
function copyFiles(source: string, file: string): boolean {
  const log = `${source}-wal`;
  const before = headerOf(log);
  copyFileSync(source, file, constants.COPYFILE_FICLONE);
  if (before !== undefined) {
    try {
      copyFileSync(log, `${file}-wal`, constants.COPYFILE_FICLONE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }
  return headerOf(log) === before;
}

/** The header of a log; `undefined` if there is none. */
function headerOf(log: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(log, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const header = Buffer.alloc(32);
    return header.toString("hex", 0, readSync(descriptor, header, 0, header.length, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a copy one file, and checks it. Returns what it stores. */
function finish(file: string): string {
  chmodSync(file, 0o600);
  const sqlite = process.getBuiltinModule("node:sqlite");
  const database = new sqlite.DatabaseSync(file);
  try {
    const kind = kindOf(database);
    database.exec("PRAGMA journal_mode = DELETE");
    const [flaw] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (flaw !== "ok") throw new UsageError(shown`the store is corrupt: ${String(flaw)}`);
    return kind;
  } finally {
    database.close();
  }
}

/**
 * Returns what a store has.
 *
 * @throws {UsageError} if the database is not a store, or has a newer format.
 */
function kindOf(database: DatabaseSync): string {
  const id = database.prepare("PRAGMA application_id").get()?.["application_id"];
  const found = KINDS.find(({ file }) => file.applicationId === id);
  if (found === undefined) throw new UsageError(shown`the file is not a store of sessions or programs`);
  try {
    checkSqliteFormat(database, found.file);
    return found.kind;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new UsageError(shown`${error.message}`);
  }
}

/** Gives a complete copy its name, which must not exist. */
function publish(file: string, target: string): void {
  sync(file);
  try {
    linkSync(file, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(shown`'${target}' was created by another process meanwhile: name a new file`);
  }
  sync(dirname(target));
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
