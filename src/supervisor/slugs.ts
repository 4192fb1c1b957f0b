import type { ToolExecution } from "../engine/call/execution.ts";
import type { ErrorCode } from "../engine/errors.ts";

/** What an agent reads of why its call failed. */
export type Slug = "tool_not_found" | "permission_denied" | "fs_denied" | "invalid_args" | "tool_failed";

/** The slug of each code of a call that did not run. A record, so that the compiler reports a code that is missing. */
const SLUGS: Readonly<Record<ErrorCode, Slug>> = {
  not_found: "tool_not_found",
  validation_error: "invalid_args",
  permission_denied: "permission_denied",
  user_denied: "permission_denied",
  confirmation_timeout: "permission_denied",
  timeout: "tool_failed",
  cancelled: "tool_failed",
  execution_error: "tool_failed",
  sandbox_unavailable: "tool_failed",
  limit_exceeded: "tool_failed",
  limit_unenforceable: "tool_failed",
};

/** Returns the slug of a call that did not run. */
export function slugOf(code: ErrorCode | "aborted"): Slug {
  return code === "aborted" ? "permission_denied" : SLUGS[code];
}

/** Returns the slug of a call that failed. Whatever a tool threw once it ran is a failure of the tool. */
export function slugOfFailure({ error, receipt }: ToolExecution): Slug {
  return receipt.grant !== undefined || error === undefined ? "tool_failed" : slugOf(error.code);
}
