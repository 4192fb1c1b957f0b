/** The codes of the errors that this package throws: see docs/errors.md. */
export type SandgateErrorCode =
  | "duplicate_tool"
  | "invalid_config"
  | "invalid_message"
  | "invalid_schema"
  | "invalid_tool"
  | "journal_failed"
  | "key_value_full"
  | "listen_failed"
  | "message_conflict"
  | "package_file_missing"
  | "restate_failed"
  | "session_exists"
  | "session_store_failed"
  | "suspension_refused"
  | "suspension_store_failed"
  | "tool_failed"
  | "tool_not_found"
  | "tool_not_prepared"
  | "too_many_sessions";

/**
 * The base class of every error that this package exports. Apart from these it throws `TypeError` for invalid arguments
 * and options. A call that fails throws nothing: it is an execution with an `error`.
 */
export abstract class SandgateError extends Error {
  /** The name of the class. */
  abstract override readonly name: string;
  /** Identifies the kind of error; each exported class has one. Compare this rather than the message. */
  abstract readonly code: SandgateErrorCode;
}
