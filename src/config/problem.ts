import { UNPRINTABLE } from "../base/text.ts";
import { SandgateError } from "../base/thrown.ts";

/** A problem in a configuration file, with its position. */
export interface ConfigProblem {
  /** The path of the file as it was given. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 code units. */
  readonly column: number;
  /** A file with errors cannot be used. Warnings are only reported. */
  readonly severity: "error" | "warning";
  /** One line that says what to change, without the position. */
  readonly message: string;
}

/** Thrown if a configuration cannot be used. `message` lists every problem, one per line. */
export class ConfigError extends SandgateError {
  override readonly name = "ConfigError";
  override readonly code = "invalid_config";
  /** Every problem that was found, warnings included. */
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(formatProblem).join("\n"));
    this.problems = Object.freeze([...problems]);
  }
}

const MAX_MESSAGE_LENGTH = 500;

/**
 * Formats a problem as one printable line: `file:line:column: message`, with `warning: ` before a warning's message.
 */
export function formatProblem({ file, line, column, severity, message }: ConfigProblem): string {
  const text = severity === "warning" ? `warning: ${message}` : message;
  const cut = text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH)}…`;
  return `${file}:${line}:${column}: ${cut}`.replace(UNPRINTABLE, "\ufffd");
}
