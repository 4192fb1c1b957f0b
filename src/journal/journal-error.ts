import { SandgateError } from "../base/thrown.ts";

/** Thrown if a journal cannot be opened, read or written. The message is for operators. */
export class JournalError extends SandgateError {
  override readonly name = "JournalError";
  override readonly code = "journal_failed";
}

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/ENOSPC|EDQUOT/, "free some space, or move old files to another disk with 'sandgate journal archive'"],
  [/EACCES|EPERM/, "let the user of this process read and write the folder and its files again"],
  [/EROFS/, "mount its file system for writing again"],
  [/EMFILE|ENFILE/, "raise the limit of open files (ulimit -n)"],
  [/\bEIO\b/, "see what the system's log says of the disk"],
  [/ was (?:removed|replaced|cut|made) /, "put it back as it was, or start the process again"],
];

/** Returns why a journal cannot be written, with what to do about it. */
export function withRemedy(reason: string): string {
  const found = REMEDIES.find(([pattern]) => pattern.test(reason));
  return found === undefined ? reason : `${reason}; ${found[1]}`;
}
