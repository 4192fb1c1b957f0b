import { formatProblem } from "../config/problem.ts";

/** A message cannot be used. The text names the file and the position. */
export class InputError extends Error {
  override readonly name = "InputError";

  constructor(file: string, message: string, line = 1, column = 1) {
    super(formatProblem({ file, line, column, severity: "error", message }));
  }
}
