import { compileNamePattern } from "../match/name-pattern.ts";
import { type CompiledCondition, compileConditions } from "./conditions/condition.ts";
import { yesOrNo } from "./conditions/match.ts";
import type { RuleMatch } from "./rule.ts";

/** Returns the time, in milliseconds since the epoch. */
export type Clock = () => number;

/** Compiles the members of a rule that depend on the call, and not only on its tool. All must be met. */
export function compileCallConditions(
  { principals, roles, when = {}, until }: RuleMatch,
  now: Clock,
): CompiledCondition[] {
  return [
    ...(until === undefined ? [] : [compileUntil(until, now)]),
    ...(principals === undefined ? [] : [compilePrincipals(principals)]),
    ...(roles === undefined ? [] : [compileRoles(roles)]),
    ...compileConditions(when),
  ];
}

function compileUntil(until: string, now: Clock): CompiledCondition {
  const end = Date.parse(until);
  return { subject: `until ${until}`, test: () => yesOrNo(now() < end) };
}

function compilePrincipals(principals: readonly string[]): CompiledCondition {
  const patterns = principals.map(compileNamePattern);
  return {
    subject: "principals",
    test: ({ principal }) => {
      if (principal === undefined) return "unclear";
      return yesOrNo(patterns.some((pattern) => pattern.matches(principal.id)));
    },
  };
}

function compileRoles(roles: readonly string[]): CompiledCondition {
  return {
    subject: "roles",
    test: ({ principal }) => {
      if (principal === undefined) return "unclear";
      return yesOrNo(roles.some((role) => principal.roles?.includes(role)));
    },
  };
}
