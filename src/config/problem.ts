/** Something in a configuration file that the operator should know of, and where it stands. */
export interface ConfigProblem {
  /** The file as the operator named it. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 code units. */
  readonly column: number;
  /** An error keeps the file from being used; a warning does not. */
  readonly severity: "error" | "warning";
  /** One line that says what to do, without the position. */
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

/** Writes a problem as `file:line:column: message`, in one printable line; a warning says that it is one. */
export function formatProblem({ file, line, column, severity, message }: ConfigProblem): string {
  const text = severity === "warning" ? `warning: ${message}` : message;
  const cut = text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH)}…`;
  return `${file}:${line}:${column}: ${cut}`.replace(UNPRINTABLE, "\ufffd");
}
