import { atOnce } from "../../base/turns.ts";
import type { Flaw } from "../../config/shape.ts";
import type { JsonBounds } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import { escapePointer, lookUp } from "../../json/pointer.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";
import type { RulePolicyOptions } from "./rule.ts";
import { ruleFlaws } from "./rule-flaws.ts";
import { policyShape } from "./rule-shape.ts";

/** Far above any realistic policy. Rules are trusted, so the bounds for a model's arguments do not apply. */
const POLICY_BOUNDS: JsonBounds = Object.freeze({
  length: 64 * 1_024 * 1_024,
  values: 5_000_000,
  members: 2_000_000,
});

/**
 * Checks the options, and returns a deeply frozen copy.
 *
 * @throws {TypeError} with every problem, and the name of its rule.
 */
export function checkOptions(options: RulePolicyOptions): RulePolicyOptions {
  const copy = copyOptions(options);
  const flaws = policyShape(copy);
  const checked = copy as unknown as RulePolicyOptions;
  const all =
    flaws.length > 0 ? flaws : atOnce(ruleFlaws(checked.rules.entries(), checked.default, checked.untrusted));
  if (all.length > 0) throw new TypeError(all.map((flaw) => describeFlaw(flaw, copy)).join("; "));
  return checked;
}

function copyOptions(options: RulePolicyOptions): JsonValue {
  try {
    return copyJson(options, POLICY_BOUNDS);
  } catch (error) {
    if (error instanceof JsonValueError)
      throw new TypeError(`the rules are not valid JSON: ${error.message}`);
    throw error;
  }
}

function describeFlaw({ path, message }: Flaw, options: JsonValue): string {
  const [member, index, ...rest] = path;
  if (member !== "rules" || index === undefined) return `${pointerOf(path)}${message}`;
  const name = lookUp(options, ["rules", index, "name"]);
  const place = `rule ${Number(index) + 1}`;
  return `${place}${typeof name === "string" ? ` ('${name}')` : ""}: ${pointerOf(rest)}${message}`;
}

function pointerOf(path: readonly string[]): string {
  return path.length === 0 ? "" : `/${path.map(escapePointer).join("/")} `;
}
