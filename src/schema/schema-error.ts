/** What is wrong with a schema, and where. */
export interface SchemaProblem {
  /** JSON pointer (RFC 6901) into the schema; empty for its root. */
  readonly path: string;
  readonly reason: string;
}

const MAX_LISTED = 10;

/** A schema is refused. `problems` has what was found; the message names the first ten. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly problems: readonly SchemaProblem[];

  constructor(problems: readonly SchemaProblem[]) {
    const listed = problems
      .slice(0, MAX_LISTED)
      .map(({ path, reason }) => `at ${path || "the root"}: ${reason}`);
    const more = problems.length - listed.length;
    super(`${listed.join("; ")}${more > 0 ? `; and ${more} more` : ""}`);
    this.problems = Object.freeze([...problems]);
  }
}
