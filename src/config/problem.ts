/** Something in a configuration file that the operator should know of, and where it stands. */
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

/** A configuration cannot be used. The message lists every problem, one a line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** Every problem that was found, warnings included. */
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(formatProblem).join("\n"));
    this.problems = Object.freeze([...problems]);
  }
}

const MAX_MESSAGE_LENGTH = 500;
/** Control characters, and those that change the order in which a terminal shows the others. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Formats a problem as one printable line: `file:line:column: message`, with `warning: ` before a warning's message.
 */
export function formatProblem({ file, line, column, severity, message }: ConfigProblem): string {
  const text = severity === "warning" ? `warning: ${message}` : message;
  const cut = text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH)}…`;
  return `${file}:${line}:${column}: ${cut}`.replace(UNPRINTABLE, "\ufffd");
}
