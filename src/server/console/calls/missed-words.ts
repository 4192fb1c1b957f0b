import { lookUp, POINTER_PATTERN, parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";

/** The condition that a call missed: the key of `when`, and whether that is unclear. */
const MISSED = /^(\/.*) \((\w+)\)(, unclear)?$/;
const POINTER = new RegExp(POINTER_PATTERN);

/** The most characters of a value, and the most values of a list. */
const MAX_CHARS = 200;
const MAX_VALUES = 10;

/**
 * Says in words what a call missed of a rule: `/to is "ann@example.com"; the rule allows "*@team.example"`. Returns the text of
 * the policy where the rule cannot be read, or says something else than what one argument may be.
 *
 * @param missed As in a `NearMiss`: `/to (glob)`.
 * @param input The arguments, without secrets.
 */
export function missedInWords(missed: string, rule: string, policy: RuntimePolicy, input: JsonValue): string {
  const [, key = "", kind = "", unclear = ""] = MISSED.exec(missed) ?? [];
  const condition = key === "" || !POINTER.test(key) ? undefined : conditionOf(policy, rule, key);
  const allowed =
    condition !== undefined && Object.hasOwn(condition, kind) ? allowedBy(condition) : undefined;
  if (allowed === undefined) return missed;
  const found = key.split("/").includes("*") ? undefined : lookUp(input, parsePointer(key));
  if (found === undefined) return `the rule allows ${allowed} as each ${key}`;
  const given = typeof found === "symbol" ? `${key} is missing` : `${key} is ${brief(found)}`;
  return `${given}; the rule allows ${allowed}${unclear === "" ? "" : ", and whether it is that is unclear"}`;
}

/**
 * Finds the condition of a rule. Rules of several parts of a policy can have one name, and those with `all` several conditions on
 * one argument: then there is none.
 */
function conditionOf(policy: RuntimePolicy, name: string, key: string): JsonObject | undefined {
  const rules = (policy.sources ?? []).flatMap((source) => {
    const { rules: all } = JSON.parse(source) as { readonly rules?: JsonValue };
    return Array.isArray(all) ? all.filter((rule) => isJsonObject(rule) && rule["name"] === name) : [];
  });
  const [rule, ...others] = rules;
  if (others.length > 0 || !isJsonObject(rule) || !isJsonObject(rule["when"])) return undefined;
  const { [key]: condition, all } = rule["when"];
  if (all !== undefined) return undefined;
  return isJsonObject(condition) ? condition : undefined;
}

/** What a condition allows; `undefined` if it cannot be said in a few words. */
function allowedBy(condition: JsonObject): string | undefined {
  const [[kind, value] = [], ...others] = Object.entries(condition);
  if (kind === undefined || value === undefined || others.length > 0) return undefined;
  switch (kind) {
    case "equals":
      return brief(value);
    case "oneOf":
    case "glob":
      return choices(value);
    case "prefix":
      return `what starts with ${brief(value)}`;
    case "regex":
      return `what matches ${brief(value)}`;
    case "range":
      return isJsonObject(value) ? rangeOf(value) : undefined;
    case "not": {
      const excluded = isJsonObject(value) ? allowedBy(value) : undefined;
      return excluded === undefined ? undefined : `anything but ${excluded}`;
    }
    default:
      return undefined;
  }
}

function choices(value: JsonValue): string {
  const values = Array.isArray(value) ? value : [value];
  const shown = values.slice(0, MAX_VALUES).map(brief);
  const more = values.length - shown.length;
  return `${shown.join(" or ")}${more > 0 ? ` or one of ${more} others` : ""}`;
}

function rangeOf({ min, max }: JsonObject): string | undefined {
  if (min !== undefined && max !== undefined) return `${brief(min)} to ${brief(max)}`;
  if (min !== undefined) return `at least ${brief(min)}`;
  return max === undefined ? undefined : `at most ${brief(max)}`;
}

function brief(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
