import { SessionStoreError } from "../../session-errors.ts";

/** Primary result codes of SQLite. */
const REASONS = new Map([
  [5, "another process or store has it open"],
  [6, "another process or store has it open"],
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
export function readableError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SessionStoreError) return error.message;
  return REASONS.get(primaryCode(error) ?? 0) ?? error.message;
}
