import { SandgateError } from "../base/sandgate-error.ts";

/** Thrown if a journal cannot be opened, read or written. The message is for operators. */
export class JournalError extends SandgateError {
  override readonly name = "JournalError";
  override readonly code = "journal_failed";
}
