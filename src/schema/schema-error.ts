import { beginning } from "../base/text.ts";
import { SandgateError } from "../base/thrown.ts";

/** A problem of a schema, and where it is. */
export interface SchemaProblem {
  /** JSON pointer (RFC 6901) into the schema; empty for its root. */
  readonly path: string;
  readonly reason: string;
}

const MAX_LISTED = 10;

const MAX_PATH_LENGTH = 1_024;

/** Thrown if a schema is refused. `problems` lists all reasons; `message` has the first ten. */
export class SchemaError extends SandgateError {
  override readonly name = "SchemaError";
  override readonly code = "invalid_schema";
  readonly problems: readonly SchemaProblem[];

  constructor(problems: readonly SchemaProblem[]) {
    const listed = problems
      .slice(0, MAX_LISTED)
      .map(({ path, reason }) => `at ${beginning(path, MAX_PATH_LENGTH) || "the root"}: ${reason}`);
    const more = problems.length - listed.length;
    super(`${listed.join("; ")}${more > 0 ? `; and ${more} more` : ""}`);
    this.problems = Object.freeze([...problems]);
  }
}
