/** What is wrong with one place of a value. */
export interface ArgumentProblem {
  /** A JSON pointer (RFC 6901) to the value, shortened if it is very long; empty for the whole value. */
  readonly path: string;
  /** Such as `must be string`. */
  readonly message: string;
}

/** How to adapt arguments that a schema does not accept as they are. */
export interface ArgumentRules {
  /**
   * How to treat `null` for a property that is not required and whose schema does not accept `null`: `"absent"` removes
   * the property, `"reject"` makes it an error. Default: `"absent"`.
   */
  readonly nullForOptional?: "absent" | "reject";
  /**
   * Whether to convert strings to numbers and booleans and the other way round, if the text is exactly the JSON text of
   * the value. Default: `false`.
   */
  readonly coerce?: boolean;
}

/** The rules that apply unless the tool or the registry sets different ones. */
export const DEFAULT_ARGUMENT_RULES: Required<ArgumentRules> = Object.freeze({
  nullForOptional: "absent",
  coerce: false,
});

/** Returns what is wrong with the rules. */
export function argumentRuleProblems({ nullForOptional, coerce }: ArgumentRules): readonly string[] {
  const problems: string[] = [];
  if (nullForOptional !== undefined && nullForOptional !== "absent" && nullForOptional !== "reject") {
    problems.push('nullForOptional must be "absent" or "reject"');
  }
  if (coerce !== undefined && typeof coerce !== "boolean") problems.push("coerce must be true or false");
  return problems;
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
