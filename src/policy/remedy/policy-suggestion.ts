/** What to change in a policy so that it allows a call, or why there is nothing to suggest. */
export type PolicySuggestion = SuggestedChange | WithheldSuggestion;

/** A small change of a policy, with which it allows a call that it denied. It was tried. */
export interface SuggestedChange {
  /** What the changed policy decides: `ask` if a person still has to confirm the call. */
  readonly decision: "allow" | "ask";
  /** What the change does, and why it is needed. Like the texts of decisions, it is for operators. */
  readonly text: string;
  /** The rules that change, as items of `rules` in YAML, in ASCII: a comment before each says where it belongs. */
  readonly yaml: string;
  /** The same rules, one by one. */
  readonly changes: readonly SuggestedRule[];
  /** What else the changed policy allows, of calls that are like this one: in prose, without arguments. */
  readonly widens: readonly string[];
}

/** A rule that takes the place of another one, or is new. */
export interface SuggestedRule {
  readonly kind: "replace" | "add";
  /** The name of the rule. */
  readonly rule: string;
  /** Where the rule is, or that after which a new one belongs; absent if the policy was made in code. */
  readonly file?: string;
  readonly line?: number;
  /** The rule, as an item of `rules`. */
  readonly yaml: string;
}

/** There is nothing to suggest. */
export interface WithheldSuggestion {
  /** Why, for operators. */
  readonly withheld: string;
}
