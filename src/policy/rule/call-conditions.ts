import { lookUp, MISSING, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compilePattern } from "../../patterns/pattern.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { MAX_WORDS } from "../user-words.ts";
import { type CompiledCondition, compileConditions } from "./conditions/condition.ts";
import { allOf, type Match, yesOrNo } from "./conditions/match.ts";
import { compileHistory } from "./history-conditions.ts";
import type { RuleMatch } from "./rule.ts";

/** Returns the time, in milliseconds since the epoch. */
export type Clock = () => number;

/** Compiles the members of a rule that depend on the call, and not only on its tool. All must be met. */
export function compileCallConditions(
  { principals, roles, asked, absent, when = {}, history = [], until }: RuleMatch,
  now: Clock,
): CompiledCondition[] {
  return [
    ...(until === undefined ? [] : [compileUntil(until, now)]),
    ...(principals === undefined ? [] : [compilePrincipals(principals)]),
    ...(roles === undefined ? [] : [compileRoles(roles)]),
    ...(asked === undefined ? [] : [compileAsked(asked)]),
    ...(absent === undefined ? [] : [compileAbsent(absent)]),
    ...compileConditions(when),
    ...history.map(compileHistory),
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

function compileAsked(asked: string): CompiledCondition {
  const pattern = compilePattern(asked, { ignoreCase: true });
  return {
    subject: "asked",
    test: ({ history }) => {
      const { userText } = history ?? {};
      if (userText === undefined || userText.length > MAX_WORDS) return "unclear";
      return yesOrNo(pattern.test(userText));
    },
  };
}

function compileAbsent(absent: readonly string[]): CompiledCondition {
  const paths = absent.map(parsePointer);
  const isEmptyAt = (input: JsonValue, path: readonly string[]): Match => {
    const found = lookUp(input, path);
    // A value through which the pointer cannot lead is not what the rule is about.
    return typeof found === "symbol" ? (found === MISSING ? "yes" : "unclear") : yesOrNo(isEmpty(found));
  };
  return {
    subject: `absent ${absent.join(", ")}`,
    test: ({ input }) => allOf(paths, (path) => isEmptyAt(input, path)),
  };
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === "" || (isJsonObject(value) && Object.keys(value).length === 0);
}
