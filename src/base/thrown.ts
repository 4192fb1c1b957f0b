import { homedir, tmpdir } from "node:os";
import { basename } from "node:path";
import { getSystemErrorMap } from "node:util";

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

/** Descriptions of what a tool threw, for the model and for the operator. */
export interface ThrownText {
  /** The error's message, without the stack and without paths of this host. */
  readonly message: string;
  /**
   * The stack with those of its causes, or the whole thrown value, for the operator. Errors of this package explain themselves:
   * they and their causes are described without a stack, except failures of tools.
   */
  readonly detail: string;
}

/** Describes any value that trusted code threw. Never throws. */
export function describeThrown(thrown: unknown): ThrownText {
  try {
    if (thrown instanceof Error) {
      const message = String(thrown.message);
      // A tool's failure has a cause of any kind.
      const isOwn = thrown instanceof SandgateError && thrown.code !== "tool_failed";
      const describe = isOwn ? lineOf : stackOf;
      const detail = `${describe(thrown)}${describeCauses(thrown, describe)}`;
      return { message: withoutHostPaths(message, pathsOf(thrown)), detail };
    }
    const text = textOf(thrown);
    return { message: withoutHostPaths(text), detail: text };
  } catch {
    return { message: "", detail: "the thrown value cannot be read" };
  }
}

/** Causes of causes are described up to this depth: a chain may be circular. */
const MAX_CAUSES = 5;

function stackOf(error: Error): string {
  return String(error.stack ?? error.message);
}

function lineOf({ name, message }: Error): string {
  return `${name}: ${message}`;
}

/** Describes the causes of an error, each on lines of its own. Never throws. */
function describeCauses(error: Error, describe: (cause: Error) => string): string {
  let described = "";
  try {
    let cause: unknown = error.cause;
    for (let depth = 0; depth < MAX_CAUSES && cause !== undefined && cause !== null; depth++) {
      if (cause instanceof Error) {
        described += `\nCaused by: ${describe(cause)}`;
        cause = cause.cause;
      } else {
        described += `\nCaused by: ${textOf(cause)}`;
        break;
      }
    }
  } catch {
    described += "\nCaused by: a value that cannot be read";
  }
  return described;
}

/** `null`, `undefined`, symbols and functions have no text. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "" : (JSON.stringify(value) ?? "");
}

/** The absolute paths of a system error of Node.js: `ENOENT: no such file or directory, open '/srv/x'`. */
function pathsOf(error: Error & { readonly path?: unknown; readonly dest?: unknown }): readonly string[] {
  return [error.path, error.dest].filter(
    (path) => typeof path === "string" && path.startsWith("/"),
  ) as string[];
}

/** The folders whose paths would reveal details of this machine, the longest first: one may contain another. */
const HOST_FOLDERS: readonly string[] = [process.cwd(), homedir(), tmpdir()]
  .filter((folder) => folder.length > 1)
  .sort((a, b) => b.length - a.length);

/** Matches such a folder, but neither inside another path nor as the beginning of another name. */
const HOST_FOLDER = new RegExp(
  `(?<![\\w./-])(?:file://)?(?:${HOST_FOLDERS.map((folder) => RegExp.escape(folder)).join("|")})(?:/|(?![\\w.-]))`,
  "g",
);

/**
 * Removes this host's folders (working, home, temporary) from a text, and reduces known paths to their last part:
 * `open '/home/me/project/x'` becomes `open 'x'`.
 */
function withoutHostPaths(text: string, known: readonly string[] = []): string {
  const named = known.reduce((said, path) => said.replaceAll(path, basename(path)), text);
  return named.replace(HOST_FOLDER, (folder) => (folder.endsWith("/") ? "" : "."));
}

/** Errors of name look-ups, which are not in Node's map. */
const LOOK_UPS: Readonly<Record<string, string>> = {
  ENOTFOUND: "host name not found",
  ENODATA: "no such DNS record",
  ETIMEOUT: "DNS look-up timed out",
};

/** An error's causes are searched up to this depth: a chain may be circular. */
const MAX_SYSTEM_CAUSES = 3;

let texts: Map<string, string> | undefined;

/** Returns what an error code of the operating system means, such as `ENOENT`; `undefined` for any other text. */
export function systemErrorText(code: string): string | undefined {
  texts ??= new Map([...getSystemErrorMap().values()]);
  return texts.get(code) ?? (Object.hasOwn(LOOK_UPS, code) ? LOOK_UPS[code] : undefined);
}

/**
 * Returns the code of the operating system that an error has, or one of its causes, as an error of `fetch` does; `undefined` if
 * none has one. May throw what a getter or a proxy trap of the value throws.
 */
export function systemErrorCode(thrown: unknown): string | undefined {
  let error: unknown = thrown;
  for (let depth = 0; depth <= MAX_SYSTEM_CAUSES && error instanceof Error; depth++) {
    const code: unknown = Reflect.get(error, "code");
    if (typeof code === "string" && systemErrorText(code) !== undefined) return code;
    error = error.cause;
  }
  return undefined;
}
