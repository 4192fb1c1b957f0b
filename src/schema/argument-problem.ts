/** What is wrong with one place of a value. */
export interface ArgumentProblem {
  /** A JSON pointer (RFC 6901) to the value, shortened if it is very long; empty for the whole value. */
  readonly path: string;
  /** Such as `must be string`. */
  readonly message: string;
}

/** Formats a problem for the model: `/path must be string`. */
export function problemText({ path, message }: ArgumentProblem): string {
  return path === "" ? message : `${path} ${message}`;
}

/** Reads a problem in the form `/path message`, as a tool's own validation writes it. */
export function readProblem(text: string): ArgumentProblem {
  const [, path = "", message = text] = /^(\/\S*) (.+)$/s.exec(text) ?? [];
  return { path, message };
}
