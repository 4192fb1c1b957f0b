import type { GuardedAccess } from "../base/guarded-files.ts";
import type { ProtectedPlace } from "./protected-places.ts";

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
  "bad-descriptor": "the file is closed, or not open for this operation",
  busy: "the file is in use, or keeps changing",
  "cross-device": "the target is on another file system",
  exist: "the file or directory already exists",
  "file-too-large": "the file would be too large",
  "illegal-byte-sequence": "the path contains invalid characters",
  "insufficient-memory": "too many files are open: close some first",
  "insufficient-space": "no space is left, or the call's limit for writing is reached",
  invalid: "the operation is not valid for this path",
  io: "reading or writing failed",
  "is-directory": "the path is a directory",
  loop: "the path is a link, or leads through too many links",
  "name-too-long": "the path is too long or too deep",
  "no-entry": "no such file or directory",
  "not-directory": "the path is not a directory",
  "not-empty": "the directory is not empty",
  "not-permitted": "the operation is not permitted here",
  "read-only": "the granted directory is read-only",
  quota: "the disk quota is exceeded",
  "text-file-busy": "the file is being executed",
  unsupported: "the operation is not supported",
});

/** Every {@link WorkspaceErrorCode}. */
export const WORKSPACE_ERROR_CODES: readonly WorkspaceErrorCode[] = Object.freeze(
  Object.keys(TEXTS) as WorkspaceErrorCode[],
);

/** A file operation failed. `message` is for the tool: it contains no paths of this machine. */
export class WorkspaceError extends Error {
  override readonly name = "WorkspaceError";
  readonly code: WorkspaceErrorCode;

  /** @param message Default: the text of the code. */
  constructor(code: WorkspaceErrorCode, message: string = TEXTS[code]) {
    super(message);
    this.code = code;
  }
}

/** A path leads out of the granted directories. */
export class EscapeError extends WorkspaceError {
  constructor() {
    super("not-permitted", "the path leads out of the granted directories");
  }
}

/** A change in a place that the grant does not open for writing: see `protectedPlace`. */
export class ProtectedPlaceError extends WorkspaceError {
  constructor({ reason, list }: ProtectedPlace) {
    const remedy =
      list === "denied"
        ? "only a grant that names the place allows it"
        : "a person has to be asked first, about a path that the tool declares";
    super("not-permitted", `what is there ${reason}: ${remedy}`);
  }
}

/** One of Sandgate's own files: see `guardFiles`. */
export class GuardedFileError extends WorkspaceError {
  constructor(access: GuardedAccess) {
    super(
      access === "none" ? "not-permitted" : "read-only",
      access === "none"
        ? "this file holds keys or records of Sandgate itself, which no grant lets a tool reach"
        : "Sandgate itself reads or writes this file: no grant lets a tool change it",
    );
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

/**
 * Makes a system call.
 *
 * @throws {WorkspaceError} if the system refuses it. The system's own message is dropped, as it names host paths.
 */
export function syscall<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw readSystemError(error);
  }
}

/** Waits for a system call that is made outside of this thread. Rejects as {@link syscall} throws. */
export async function syscallLater<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw readSystemError(error);
  }
}

function readSystemError(error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return error;
  return new WorkspaceError(CODES.get(String(error.code)) ?? "io");
}

/** Makes a system call; returns `undefined` if the system refuses it with one of the codes. */
export function syscallUnless<Result>(
  codes: readonly WorkspaceErrorCode[],
  call: () => Result,
): Result | undefined {
  try {
    return syscall(call);
  } catch (error) {
    if (error instanceof WorkspaceError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** Whether an entry no longer exists: it was removed, or replaced by one of another kind. */
export function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "");
}
