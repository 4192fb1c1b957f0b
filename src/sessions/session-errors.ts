import { SandgateError } from "../base/thrown.ts";

/** Thrown if a session has this id already. */
export class SessionExistsError extends SandgateError {
  override readonly name = "SessionExistsError";
  override readonly code = "session_exists";
}

/** Thrown if a principal has as many open sessions as it may. */
export class TooManySessionsError extends SandgateError {
  override readonly name = "TooManySessionsError";
  override readonly code = "too_many_sessions";
}

/** Thrown if a store of sessions cannot be opened, read or written. `message` says why. */
export class SessionStoreError extends SandgateError {
  override readonly name = "SessionStoreError";
  override readonly code = "session_store_failed";
}
