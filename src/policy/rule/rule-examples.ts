import type { Flaw } from "../../config/shape.ts";
import { checkPrincipal, type Principal } from "../principal.ts";
import type { Match } from "./conditions/match.ts";
import type { PolicyRule, RuleExample } from "./rule.ts";
import { RuleMatcher } from "./rule-matcher.ts";

/** Rules are checked as if they did not end, so that a policy loads next year, too. */
const BEFORE_EVERY_END = (): number => Number.NEGATIVE_INFINITY;

/**
 * Finds the examples of a rule for which the rule does something else than they say. If it is unclear whether a rule
 * matches, a rule that denies or asks applies, and one that allows does not.
 *
 * @param path Of the rule, which has no other flaws.
 */
export function exampleFlaws(path: readonly string[], rule: PolicyRule): readonly Flaw[] {
  // An example has no earlier calls.
  const { examples: { match = [], noMatch = [] } = {}, history: _, ...ofCall } = rule;
  if (match.length + noMatch.length === 0) return [];
  const matcher = new RuleMatcher(ofCall, BEFORE_EVERY_END);
  const check = (member: "match" | "noMatch", example: RuleExample, index: number): readonly Flaw[] => {
    const message = problemOf(matcher, rule, member, example);
    if (message === undefined) return [];
    return [{ path: [...path, "examples", member, String(index)], at: "value", message }];
  };
  return [
    ...match.flatMap((example, index) => check("match", example, index)),
    ...noMatch.flatMap((example, index) => check("noMatch", example, index)),
  ];
}

function problemOf(
  matcher: RuleMatcher,
  { effect }: PolicyRule,
  member: "match" | "noMatch",
  { arguments: input, principal }: RuleExample,
): string | undefined {
  let caller: Principal | undefined;
  try {
    caller = principal && checkPrincipal(principal);
  } catch (error) {
    return (error as Error).message;
  }
  const call = { input, sessionId: "example", principal: caller };
  const found: Match = matcher.match(call);
  const applies = found === "yes" || (found === "unclear" && effect !== "allow");
  if (applies === (member === "match")) return undefined;
  if (found === "yes") return "the rule matches this example";
  const missed = matcher.missedConditions(call).join(", ");
  if (found === "no") return `the rule does not match this example: ${missed}`;
  return `it is unclear whether the rule matches this example, so it ${effect === "allow" ? "allows nothing" : "applies"}: ${missed}`;
}
