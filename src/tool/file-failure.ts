import { beginning } from "../base/text.ts";
import { ToolFailure } from "./tool-failure.ts";

/** Longest part of a path in a text, in UTF-16 code units. */
const MAX_PATH_LENGTH = 256;

/** An operation of `HostContext.files` failed. The model can read the message, which names the path that was given. */
export class FileFailure extends ToolFailure {
  override readonly name = "FileFailure";
  /** Why, with the names of WASI's `error-code`: `no-entry`, `exist`, `read-only`, `insufficient-space` and so on. */
  readonly reason: string;

  /** @param reason `not-permitted` and `read-only` make it a `permission_denied`. */
  constructor(reason: string, message: string) {
    const isDenied = reason === "not-permitted" || reason === "read-only";
    super(isDenied ? "permission_denied" : "execution_error", message);
    this.reason = reason;
  }
}

/** What the model reads if a path leads out of what it may lead to. */
export const ESCAPE_TEXT = "Path escapes workspace boundary";

/** What operators read in place of {@link ESCAPE_TEXT}. */
export function escapeDetail(path: string): string {
  return `Path '${shownPath(path)}' escapes workspace boundary`;
}

/** A path of a host tool leads out of what the call was granted. The stack, for operators, names it. */
export class WorkspaceEscapeError extends ToolFailure {
  override readonly name = "WorkspaceEscapeError";
  readonly path: string;

  constructor(path: string) {
    super("permission_denied", ESCAPE_TEXT);
    this.path = path;
    this.stack = [`${this.name}: ${escapeDetail(path)}`, ...(this.stack ?? "").split("\n").slice(1)].join(
      "\n",
    );
  }
}

/** Returns a path as texts show it. */
export function shownPath(path: string): string {
  return path.length <= MAX_PATH_LENGTH ? path : `${beginning(path, MAX_PATH_LENGTH)}…`;
}
