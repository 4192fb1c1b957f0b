/** Why a file operation failed, with the names of WASI's `error-code` (`wasi:filesystem/types`). */
export type WorkspaceErrorCode =
  | "access"
  | "bad-descriptor"
  | "busy"
  | "cross-device"
  | "exist"
  | "file-too-large"
  | "illegal-byte-sequence"
  | "insufficient-memory"
  | "insufficient-space"
  | "invalid"
  | "io"
  | "is-directory"
  | "loop"
  | "name-too-long"
  | "no-entry"
  | "not-directory"
  | "not-empty"
  | "not-permitted"
  | "read-only"
  | "quota"
  | "text-file-busy"
  | "unsupported";

const TEXTS: Readonly<Record<WorkspaceErrorCode, string>> = Object.freeze({
  access: "permission denied",
  "bad-descriptor": "it is closed, or not open for this",
  busy: "it is in use, or kept changing",
  "cross-device": "it is on another file system",
  exist: "it exists already",
  "file-too-large": "the file would be too large",
  "illegal-byte-sequence": "a name has characters that no name may have",
  "insufficient-memory": "too much is open: close something first",
  "insufficient-space": "no space is left, or no more may be written",
  invalid: "this cannot be done with it",
  io: "reading or writing failed",
  "is-directory": "it is a directory",
  loop: "it is a link, or leads through too many",
  "name-too-long": "the path is too long or too deep",
  "no-entry": "there is no such file or directory",
  "not-directory": "it is no directory",
  "not-empty": "the directory is not empty",
  "not-permitted": "it is outside of the granted directories, or no plain file",
  "read-only": "the directory was granted for reading only",
  quota: "the quota of the file system is used up",
  "text-file-busy": "the file is being executed",
  unsupported: "this is not offered here",
});

/** Every {@link WorkspaceErrorCode}. */
export const WORKSPACE_ERROR_CODES: readonly WorkspaceErrorCode[] = Object.freeze(
  Object.keys(TEXTS) as WorkspaceErrorCode[],
);

/** A file operation failed. `message` is for the tool: it contains no paths of this machine. */
export class WorkspaceError extends Error {
  override readonly name = "WorkspaceError";
  readonly code: WorkspaceErrorCode;

  constructor(code: WorkspaceErrorCode) {
    super(TEXTS[code]);
    this.code = code;
  }
}

const CODES: ReadonlyMap<string, WorkspaceErrorCode> = new Map<string, WorkspaceErrorCode>([
  ["EACCES", "access"],
  ["EBADF", "bad-descriptor"],
  ["EBUSY", "busy"],
  ["EDQUOT", "quota"],
  ["EEXIST", "exist"],
  ["EFBIG", "file-too-large"],
  ["EILSEQ", "illegal-byte-sequence"],
  ["EINVAL", "invalid"],
  ["EISDIR", "is-directory"],
  ["ELOOP", "loop"],
  ["EMFILE", "insufficient-memory"],
  ["ENAMETOOLONG", "name-too-long"],
  ["ENFILE", "insufficient-memory"],
  ["ENOENT", "no-entry"],
  ["ENOMEM", "insufficient-memory"],
  ["ENOSPC", "insufficient-space"],
  ["ENOTDIR", "not-directory"],
  ["ENOTEMPTY", "not-empty"],
  ["ENOTSUP", "unsupported"],
  ["EPERM", "not-permitted"],
  ["EROFS", "read-only"],
  ["ETXTBSY", "text-file-busy"],
  ["EXDEV", "cross-device"],
]);

/** Asks the system for something. What it refuses is told without its words: they name paths of this machine. */
export function ask<Answer>(system: () => Answer): Answer {
  try {
    return system();
  } catch (error) {
    if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) throw error;
    throw new WorkspaceError(CODES.get(String(error.code)) ?? "io");
  }
}

/** Does the same, but gives `undefined` where the system refuses with one of the codes. */
export function syscallUnless<Answer>(
  codes: readonly WorkspaceErrorCode[],
  system: () => Answer,
): Answer | undefined {
  try {
    return ask(system);
  } catch (error) {
    if (error instanceof WorkspaceError && codes.includes(error.code)) return undefined;
    throw error;
  }
}
