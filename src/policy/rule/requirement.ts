import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { parseKey } from "./conditions/condition.ts";
import type { RuleCondition, RuleConditions, RuleMatch } from "./rule.ts";

/**
 * What one value of a call must be like so that a rule can match. A call without the value does not match. Whether one
 * matches whose value cannot be reached is unclear.
 */
export interface Requirement {
  readonly root: "input" | "principal";
  /** The steps from the root to the value. */
  readonly path: readonly string[];
  /** The value must be one of `values`, none of which is a list or an object, or a path with one of `prefixes`. */
  readonly kind: "values" | "prefixes";
  readonly values: readonly JsonValue[];
}

/** Finds what a rule requires of a call, by which rules can be looked up. An exact value is preferred. */
export function findRequirement({ principals, when = {} }: RuleMatch): Requirement | undefined {
  const found = [...requirementsOf(when), ...principalRequirements(principals)];
  return found.find(({ kind }) => kind === "values") ?? found[0];
}

function requirementsOf({ all = [], any, ...entries }: RuleConditions): readonly Requirement[] {
  const own = Object.entries(entries as { readonly [key: string]: RuleCondition }).flatMap(
    ([key, condition]) => {
      const { root, paths } = parseKey(key);
      const [path = [], ...others] = paths;
      const required = requiredBy(condition);
      if (required === undefined || root === "session" || others.length > 0) return [];
      return [{ root, path, ...required }];
    },
  );
  return [...own, ...all.flatMap(requirementsOf)];
}

function requiredBy(condition: RuleCondition): Pick<Requirement, "kind" | "values"> | undefined {
  if ("equals" in condition) return exact([condition.equals]);
  if ("oneOf" in condition) return exact(condition.oneOf);
  if ("prefix" in condition) return prefixes([condition.prefix]);
  if ("glob" in condition) return prefixes([condition.glob].flat().map(literalPrefix));
  return undefined;
}

function exact(values: readonly JsonValue[]): Pick<Requirement, "kind" | "values"> | undefined {
  if (values.some((value) => Array.isArray(value) || isJsonObject(value))) return undefined;
  return { kind: "values", values };
}

function prefixes(values: readonly string[]): Pick<Requirement, "kind" | "values"> | undefined {
  return values.includes("") ? undefined : { kind: "prefixes", values };
}

/** Returns a text with which every path begins that a glob matches. */
function literalPrefix(glob: string): string {
  // `src/**` matches `src`, too, and a slash at the end is ignored.
  return glob.replace(/[*?[{].*$/s, "").replace(/\/$/, "");
}

function principalRequirements(principals: readonly string[] | undefined): readonly Requirement[] {
  const ids = principals?.map((pattern) => compileNamePattern(pattern).literal);
  if (ids === undefined || !ids.every((id) => id !== undefined)) return [];
  return [{ root: "principal", path: ["id"], kind: "values", values: ids }];
}
