import { SessionStoreError } from "../session-store-error.ts";

/** Primary result codes of SQLite. */
const REASONS = new Map([
  [5, "another process or store has it open"],
  [6, "another process or store has it open"],
  [8, "it cannot be written"],
  [11, "the file is corrupt"],
  [13, "the disk is full"],
  [26, "the file is not a database"],
]);

/** Describes an error of SQLite or of the file system, for operators. */
export function readableError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SessionStoreError) return error.message;
  const { errcode } = error as { readonly errcode?: unknown };
  // The low byte is the primary result code.
  return (typeof errcode === "number" && REASONS.get(errcode & 0xff)) || error.message;
}
