import { beginning } from "../base/text.ts";
import type { JsonObject } from "../json/value.ts";

/** Why a tool failed, as the tool itself says it. A record, so that the list below is complete. */
const CODES = {
  execution_error: true,
  permission_denied: true,
  user_denied: true,
  confirmation_timeout: true,
  validation_error: true,
  timeout: true,
  cancelled: true,
} as const;

/** The error codes that a tool can give a failure of its own. */
export type ToolFailureCode = keyof typeof CODES;

/** Every {@link ToolFailureCode}. */
export const TOOL_FAILURE_CODES: readonly ToolFailureCode[] = Object.freeze(
  Object.keys(CODES) as ToolFailureCode[],
);

/** Returns a code of a thrown value, which can have any, or `execution_error`. */
export function toolFailureCode(code: unknown): ToolFailureCode {
  return typeof code === "string" && Object.hasOwn(CODES, code)
    ? (code as ToolFailureCode)
    : "execution_error";
}

/** The options of {@link ToolFailure}. */
export interface ToolFailureOptions {
  /** Whether the message can be shown to the users of the agent, besides the model. Default: `true`. */
  readonly userVisible?: boolean;
  /** The error behind it, for the operator. */
  readonly cause?: unknown;
  /** Becomes `ToolExecution.metadata`. The model never sees it. */
  readonly metadata?: JsonObject;
  /** What the call left behind. Only host tools are believed. Default: `"unknown"`. */
  readonly effect?: "none" | "committed" | "unknown";
}

/** Marks a failure for every copy of this module, such as the one in a worker thread. */
const BRAND = Symbol.for("sandgate.ToolFailure");

/**
 * An error that a host function or a module throws to say why it failed: the model reads the message, and the call's
 * error has the code. A message of any other error may be replaced by a reference: see `unhandledErrors`.
 */
export class ToolFailure extends Error {
  override readonly name: string = "ToolFailure";
  readonly code: ToolFailureCode;
  readonly userVisible: boolean;
  readonly metadata: JsonObject | undefined;
  readonly effect: "none" | "committed" | "unknown";

  /** Whether a thrown value is a failure of a tool. May throw what a getter or a proxy trap of the value throws. */
  static is(thrown: unknown): thrown is ToolFailure {
    return thrown instanceof Error && Reflect.get(thrown, BRAND) === true;
  }

  /** @param code Default: `execution_error`; any code outside the closed set counts as that. */
  constructor(code: ToolFailureCode | undefined, message: string, options: ToolFailureOptions = {}) {
    const { userVisible = true, cause, metadata, effect = "unknown" } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.code = toolFailureCode(code);
    this.userVisible = userVisible;
    this.metadata = metadata;
    this.effect = effect;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

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

/** Longest part of a path in a text, in UTF-16 code units. */
const MAX_PATH_LENGTH = 256;

/** What operators read in place of {@link ESCAPE_TEXT}. */
export function escapeDetail(path: string): string {
  return `Path '${shownPath(path)}' escapes workspace boundary`;
}

/** Returns a path as texts show it. */
export function shownPath(path: string): string {
  return path.length <= MAX_PATH_LENGTH ? path : `${beginning(path, MAX_PATH_LENGTH)}…`;
}
