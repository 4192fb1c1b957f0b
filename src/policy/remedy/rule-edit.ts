import type { PolicyRule, RulePolicyOptions } from "../rule/rule.ts";

/** A change of one rule of a policy. */
export interface RuleEdit {
  /** The index of the rule: that of a new one is the number of rules. */
  readonly index: number;
  readonly rule: PolicyRule;
  /** What the change does, for operators. */
  readonly text: string;
}

/** A policy after some changes. */
export interface EditedPolicy {
  readonly options: RulePolicyOptions;
  readonly edits: readonly RuleEdit[];
}

/** Applies a change. A later change of the same rule replaces an earlier one. */
export function withEdit({ options, edits }: EditedPolicy, edit: RuleEdit): EditedPolicy {
  const rules = [...options.rules];
  rules[edit.index] = edit.rule;
  const earlier = edits.find(({ index }) => index === edit.index);
  const text = earlier === undefined ? edit.text : `${earlier.text} ${edit.text}`;
  const others = edits.filter(({ index }) => index !== edit.index);
  return { options: { ...options, rules }, edits: [...others, { ...edit, text }] };
}
