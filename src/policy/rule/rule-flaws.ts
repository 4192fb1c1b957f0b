import type { Flaw } from "../../config/shape.ts";
import { capabilityFlaws } from "../grant/capability-flaws.ts";
import { conditionFlaws } from "./conditions/condition-flaws.ts";
import { PatternBudget } from "./conditions/pattern-budget.ts";
import { untrustedFlaws } from "./conditions/untrusted-flaws.ts";
import { historyFlaws } from "./history/history-flaws.ts";
import { type AllowedUse, type PolicyRule, type UntrustedResult, usedBy } from "./rule.ts";
import { exampleFlaws } from "./rule-examples.ts";

/** Returns the name of a rule, which defaults to its number. */
export function ruleName({ name }: Pick<PolicyRule, "name">, index: number): string {
  return name ?? `rule ${index + 1}`;
}

/**
 * Finds flaws that the shape of rules does not cover: duplicate names, invalid globs, regular expressions and dates,
 * empty ranges, untrusted sources, members of conditions on earlier calls that do not go together, capabilities that are
 * invalid or contradict each other, and examples for which a rule does something else.
 */
export function ruleFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  otherwise: "deny" | AllowedUse = "deny",
  untrusted: readonly UntrustedResult[] = [],
): Flaw[] {
  const names = new Map<string, number>();
  const flaws: Flaw[] = [];
  const all = [...rules];
  const patterns = new PatternBudget();
  for (const [index, rule] of all) {
    const path = ["rules", String(index)];
    const name = ruleName(rule, index);
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else flaws.push(valueFlaw([...path, "name"], `the name '${name}' is already used by rule ${first + 1}`));
    if (rule.until !== undefined && !isTime(rule.until)) {
      flaws.push(valueFlaw([...path, "until"], "there is no such date or time"));
    }
    flaws.push(...capabilityFlaws([...path, "capabilities"], usedBy(rule)?.capabilities));
    const invalid = [
      ...(rule.asked === undefined ? [] : askedFlaws([...path, "asked"], rule.asked, patterns)),
      ...conditionFlaws([...path, "when"], rule.when, patterns),
      ...historyFlaws([...path, "history"], rule.history),
    ];
    flaws.push(...(invalid.length > 0 ? invalid : exampleFlaws(path, rule)));
  }
  flaws.push(...untrustedFlaws(all, untrusted));
  if (otherwise !== "deny")
    flaws.push(...capabilityFlaws(["default", "capabilities"], otherwise.capabilities));
  return flaws;
}

/** Whether a text in the right form is a time: JavaScript would take February 30 for a day in March. */
function isTime(text: string): boolean {
  const date = text.slice(0, 10);
  const parsed = new Date(date);
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(date)) return false;
  return !Number.isNaN(Date.parse(text));
}

function askedFlaws(path: readonly string[], source: string, patterns: PatternBudget): Flaw[] {
  const message = patterns.flawOf(source, { ignoreCase: true });
  return message === undefined ? [] : [valueFlaw(path, message)];
}

function valueFlaw(path: readonly string[], message: string): Flaw {
  return { path, at: "value", message };
}
