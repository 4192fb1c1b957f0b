import type { Flaw } from "../../config/shape.ts";
import { type Capabilities, checkCapabilities } from "../grant/capabilities.ts";
import { compileGlob } from "../match/glob.ts";
import type { AllowedUse, PolicyRule, RuleCondition } from "./rule.ts";

/** Returns the name of a rule, which defaults to its number. */
export function ruleName({ name }: Pick<PolicyRule, "name">, index: number): string {
  return name ?? `rule ${index + 1}`;
}

/**
 * Finds flaws that the shape of rules does not cover: duplicate names, invalid globs, empty ranges, and
 * capabilities that contradict each other.
 */
export function ruleFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  otherwise: "deny" | AllowedUse = "deny",
): Flaw[] {
  const names = new Map<string, number>();
  const flaws: Flaw[] = [];
  for (const [index, rule] of rules) {
    const path = ["rules", String(index)];
    const name = ruleName(rule, index);
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else flaws.push(valueFlaw([...path, "name"], `the name '${name}' is already used by rule ${first + 1}`));
    if (rule.effect === "allow") flaws.push(...capabilityFlaws(path, rule.capabilities));
    for (const [pointer, condition] of Object.entries(rule.when ?? {})) {
      flaws.push(...conditionFlaws([...path, "when", pointer], condition));
    }
  }
  if (otherwise !== "deny") flaws.push(...capabilityFlaws(["default"], otherwise.capabilities));
  return flaws;
}

function capabilityFlaws(path: readonly string[], capabilities: Capabilities = {}): Flaw[] {
  try {
    checkCapabilities(capabilities);
    return [];
  } catch (error) {
    return [valueFlaw([...path, "capabilities"], (error as TypeError).message)];
  }
}

function conditionFlaws(path: readonly string[], condition: RuleCondition): Flaw[] {
  if ("range" in condition) {
    const { min, max } = condition.range;
    if (min === undefined || max === undefined || min <= max) return [];
    return [valueFlaw([...path, "range"], "the range is empty: min is greater than max")];
  }
  if (!("glob" in condition)) return [];
  const { glob } = condition;
  if (typeof glob === "string") return globFlaws([...path, "glob"], glob);
  return glob.flatMap((item, index) => globFlaws([...path, "glob", String(index)], item));
}

function globFlaws(path: readonly string[], glob: string): Flaw[] {
  try {
    compileGlob(glob);
    return [];
  } catch (error) {
    return [valueFlaw(path, (error as SyntaxError).message)];
  }
}

function valueFlaw(path: readonly string[], message: string): Flaw {
  return { path, at: "value", message };
}
