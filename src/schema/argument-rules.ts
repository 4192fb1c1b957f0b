/** How arguments are read that a schema does not accept as they are. */
export interface ArgumentRules {
  /**
   * What `null` means as the value of a property that is not required and whose schema does not accept it:
   * `"absent"`, as if the model had left it out, or `"reject"`, an error. Default: `"absent"`.
   */
  readonly nullForOptional?: "absent" | "reject";
  /**
   * Whether numbers and booleans may be written as strings and the other way round, exactly as JSON writes
   * them. Default: `false`.
   */
  readonly coerce?: boolean;
}

/** What holds where neither a tool nor its registry says otherwise. */
export const DEFAULT_ARGUMENT_RULES: Required<ArgumentRules> = Object.freeze({
  nullForOptional: "absent",
  coerce: false,
});

/** Says why rules are none. */
export function argumentRuleProblems({ nullForOptional, coerce }: ArgumentRules): readonly string[] {
  const problems: string[] = [];
  if (nullForOptional !== undefined && nullForOptional !== "absent" && nullForOptional !== "reject") {
    problems.push('nullForOptional must be "absent" or "reject"');
  }
  if (coerce !== undefined && typeof coerce !== "boolean") problems.push("coerce must be true or false");
  return problems;
}
