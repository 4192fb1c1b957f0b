import { SessionStoreError } from "../session-store-error.ts";
import { checkFormat } from "./format.ts";
import { readableError } from "./readable-error.ts";

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
