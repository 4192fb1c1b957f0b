import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { compileNamePattern, type NamePattern } from "../match/name-pattern.ts";
import type { PolicySubject } from "../policy.ts";
import {
  type CallTest,
  type CompiledCondition,
  compileConditions,
  type MatchedCall,
  parseKey,
} from "./conditions/condition.ts";
import { type Match, yesOrNo } from "./conditions/match.ts";
import type { RuleMatch } from "./rule.ts";

/** A tool, as far as rules depend on it. */
export type MatchedTool = Pick<PolicySubject, "name" | "sideEffects" | "tags">;

/** Returns the time, in milliseconds since the epoch. */
export type Clock = () => number;

/** Values of one argument, one of which a call must have to match a rule. */
export interface RequiredValues {
  /** The steps from the input to the argument. */
  readonly path: readonly string[];
  /** None of them is a list or an object. */
  readonly values: readonly JsonValue[];
}

/** Decides which calls a rule matches. */
export class RuleMatcher {
  readonly #patterns: readonly NamePattern[] | undefined;
  readonly #sideEffects: readonly SideEffects[] | undefined;
  /** The tags of a tool, one of which it must have. */
  readonly tags: readonly string[] | undefined;
  /** The conditions on the call: they can hold for one call of a tool and not for another. */
  readonly #conditions: readonly CompiledCondition[];
  readonly #tests: readonly CallTest[];
  readonly requiredValues: RequiredValues | undefined;

  constructor({ tools, tags, sideEffects, principals, roles, when = {}, until }: RuleMatch, now: Clock) {
    this.#patterns = tools?.map(compileNamePattern);
    this.#sideEffects = sideEffects;
    this.tags = tags;
    this.#conditions = [
      ...(until === undefined ? [] : [compileUntil(until, now)]),
      ...(principals === undefined ? [] : [compilePrincipals(principals)]),
      ...(roles === undefined ? [] : [compileRoles(roles)]),
      ...compileConditions(when),
    ];
    this.#tests = this.#conditions.map(({ test }) => test);
    this.requiredValues = findRequiredValues(when);
  }

  /** Whether the match depends on the call, and not only on its tool. */
  get isConditional(): boolean {
    return this.#conditions.length > 0;
  }

  /** The names of the tools, unless the rule names them by wildcards, or does not restrict names at all. */
  get toolNames(): readonly string[] | "wildcards" | "all" {
    if (this.#patterns === undefined) return "all";
    const names = this.#patterns.map(({ literal }) => literal);
    return names.every((name) => name !== undefined) ? names : "wildcards";
  }

  /** Whether the rule can match calls of a tool. */
  concerns(tool: MatchedTool): boolean {
    return this.missedBy(tool) === undefined && this.names(tool);
  }

  /** Whether the tool has one of the rule's names. */
  names({ name }: MatchedTool): boolean {
    return this.#patterns?.some((pattern) => pattern.matches(name)) ?? true;
  }

  /** Returns what a tool does not meet besides the names, for operators; `undefined` if it meets all. */
  missedBy({ sideEffects, tags = [] }: MatchedTool): "sideEffects" | "tags" | undefined {
    if (this.#sideEffects?.includes(sideEffects) === false) return "sideEffects";
    return this.tags?.some((tag) => tags.includes(tag)) === false ? "tags" : undefined;
  }

  /** Whether a call of a concerned tool meets all conditions: `"no"` if it fails one, even if others are unclear. */
  match(call: MatchedCall): Match {
    let match: Match = "yes";
    // Written out, as this is the most frequent of all tests.
    for (const test of this.#tests) {
      const answer = test(call);
      if (answer === "no") return "no";
      if (answer === "unclear") match = "unclear";
    }
    return match;
  }

  /** Returns which conditions a call does not meet, for operators. */
  missedConditions(call: MatchedCall): readonly string[] {
    return this.#conditions.flatMap(({ test, subject }) => {
      const match = test(call);
      if (match === "yes") return [];
      return match === "no" ? subject : `${subject}, unclear`;
    });
  }
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

/** Finds an `equals` or `oneOf` that must be met, with values that can be keys of a map. */
function findRequiredValues({
  all,
  any,
  ...entries
}: RuleMatch["when"] & object): RequiredValues | undefined {
  for (const [key, condition] of Object.entries(entries)) {
    const { root, paths } = parseKey(key);
    const [path = [], ...others] = paths;
    const values =
      "equals" in condition ? [condition.equals] : "oneOf" in condition ? condition.oneOf : undefined;
    if (values === undefined || root !== "input" || others.length > 0) continue;
    if (!values.some((value) => Array.isArray(value) || isJsonObject(value))) return { path, values };
  }
  return undefined;
}
