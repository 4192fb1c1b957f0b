import { WorkspaceError, type WorkspaceErrorCode } from "../../../../../workspace/error.ts";
import { IoError } from "../streams.ts";

/** Error codes of failed streams for `filesystem-error-code`, because errors of `wasi:io` only have a message. */
const codes = new WeakMap<IoError, WorkspaceErrorCode>();

/** Runs a file operation. If it fails, throws its `error-code`, which the ABI passes as the `err` of a result. */
export function orErrorCode<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw error instanceof WorkspaceError ? error.code : error;
  }
}

/** Runs a file operation of a stream. If it fails, throws the variant `stream-error`. */
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

/** `filesystem-error-code`. Returns the code of a stream's error if a file operation caused it. */
export function filesystemErrorCode(error: unknown): WorkspaceErrorCode | undefined {
  return error instanceof IoError ? codes.get(error) : undefined;
}
