import { SandgateError } from "../../base/sandgate-error.ts";

/** Thrown if a store of sessions cannot be opened, read or written. `message` says why. */
export class SessionStoreError extends SandgateError {
  override readonly name = "SessionStoreError";
  override readonly code = "session_store_failed";
}
