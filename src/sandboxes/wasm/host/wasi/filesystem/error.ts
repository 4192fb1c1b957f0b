import { WorkspaceError, type WorkspaceErrorCode } from "../../../../../workspace/error.ts";
import { IoError } from "../streams.ts";

/** Why streams failed: `wasi:filesystem/types` tells it where `wasi:io` has only words. */
const codes = new WeakMap<IoError, WorkspaceErrorCode>();

/** Does something with files. Why it fails becomes the interface's `error-code`, which a host function throws. */
export function orErrorCode<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw error instanceof WorkspaceError ? error.code : error;
  }
}

/** The same for a stream: why it fails becomes its `stream-error`. */
export function orStreamError<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const val = new IoError(error.message);
    codes.set(val, error.code);
    throw { tag: "last-operation-failed", val };
  }
}

/** `filesystem-error-code`: why a stream failed, if that was because of a file. */
export function filesystemErrorCode(error: unknown): WorkspaceErrorCode | undefined {
  return error instanceof IoError ? codes.get(error) : undefined;
}
