import type { NearMiss } from "../../decision.ts";
import type { CompiledPermission } from "../compiled-rule.ts";
import type { MatchedCall } from "../conditions/condition.ts";
import type { MatchedTool } from "../rule-matcher.ts";

/** The number of rules that are examined for one denied call, and of those that are reported. */
const MAX_EXAMINED = 50;
const MAX_REPORTED = 5;

/**
 * Finds the rules that would have granted something to a call but for a condition, or the tool's side effects or tags.
 * Those that missed the least come first.
 *
 * @param rules Rules that name the tool.
 */
export function findNearMisses(
  rules: readonly CompiledPermission[],
  tool: MatchedTool,
  call: MatchedCall,
): readonly NearMiss[] {
  return rules
    .slice(0, MAX_EXAMINED)
    .map(({ matcher, whenMatched: { name } }) => {
      const missedByTool = matcher.missedBy(tool) ?? [];
      return { rule: name, missed: [missedByTool, matcher.missedConditions(call)].flat() };
    })
    .sort((a, b) => a.missed.length - b.missed.length)
    .slice(0, MAX_REPORTED)
    .map(({ rule, missed }) => ({ rule, missed: missed.join("; ") }));
}
