import type { JsonObject, JsonValue } from "../../json/value.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { compileCondition } from "../rule/conditions/condition.ts";
import type { RuleCondition } from "../rule/rule.ts";
import {
  accepts,
  canBe,
  canBeWithin,
  fewValues,
  longestText,
  type PossibleValues,
} from "./possible-values.ts";

/** What a condition may give for some value. What is `false` it certainly never gives. */
interface Possible {
  readonly yes: boolean;
  readonly no: boolean;
  readonly unclear: boolean;
}

/** Regular expressions that match a part of every text. */
const MATCHES_ALL = /^(?:\(?(?:\^?(?:\.[*?])?|(?:\.[*?])?\$?)\)?)$/;

const ALL: Possible = { yes: true, no: true, unclear: true };
const ONLY_UNCLEAR: Possible = { yes: false, no: false, unclear: true };

/**
 * Says why no value of a place can meet a condition; `undefined` if some value may. What depends on earlier calls is taken to be
 * possible.
 */
export function whyNever(
  root: JsonObject,
  values: PossibleValues,
  condition: RuleCondition,
): string | undefined {
  return possible(root, values, condition).yes ? undefined : reasonOf(root, values, condition);
}

function possible(root: JsonObject, values: PossibleValues, condition: RuleCondition): Possible {
  if (values.length === 0) return { yes: false, no: true, unclear: true };
  const few = fewValues(root, values) ?? wantedBy(condition)?.filter((value) => accepts(root, values, value));
  if (few !== undefined) {
    const found = few.map((value) => given(condition, value));
    const isAll = fewValues(root, values) !== undefined;
    const some = (name: keyof Possible): boolean => found.some((each) => each[name]);
    // Other values than those that are wanted do not meet the condition.
    return { yes: some("yes"), no: !isAll || some("no"), unclear: !isAll || some("unclear") };
  }
  if ("not" in condition) return negated(possible(root, values, condition.not));
  if ("all" in condition) {
    const all = allOf(condition.all.map((part) => possible(root, values, part)));
    return { ...all, yes: all.yes && !areContradictory(values, condition.all) };
  }
  if ("any" in condition)
    return negated(allOf(condition.any.map((part) => negated(possible(root, values, part)))));
  if ("range" in condition) {
    if (!canBe(values, "number")) return ONLY_UNCLEAR;
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition.range;
    return { ...ALL, yes: canBeWithin(values, min, max) };
  }
  if ("glob" in condition || "prefix" in condition || "regex" in condition) {
    if (!canBe(values, "string")) return ONLY_UNCLEAR;
    if ("regex" in condition) return { ...ALL, no: !MATCHES_ALL.test(condition.regex) };
    if ("prefix" in condition) {
      return {
        ...ALL,
        yes: !isNeverPlain(condition.prefix) && longestText(values) >= [...condition.prefix].length,
      };
    }
    const globs = [condition.glob].flat();
    const isLonger = (glob: string): boolean => longestText(values) < shortestOf(glob);
    const isNever = globs.every((glob) => isImpossibleGlob(glob) || isLonger(glob));
    return { ...ALL, yes: !isNever, no: !globs.includes("**") };
  }
  if ("from" in condition) return { ...ALL, yes: canBe(values, "string", "number", "array") };
  return ALL;
}

/** What a condition gives for one value, as far as it does not depend on earlier calls. */
export function given(condition: RuleCondition, value: JsonValue): Possible {
  if ("not" in condition) return negated(given(condition.not, value));
  if ("all" in condition) return allOf(condition.all.map((part) => given(part, value)));
  if ("any" in condition) return negated(allOf(condition.any.map((part) => negated(given(part, value)))));
  // Only texts and numbers have a source, and are looked for in texts.
  const isPlain = value === null || typeof value === "boolean";
  if ("from" in condition) return isPlain ? { yes: false, no: true, unclear: false } : ALL;
  if ("links" in condition || "without" in condition)
    return isPlain ? { yes: true, no: false, unclear: false } : ALL;
  const match = compileCondition("", condition)({ input: value, sessionId: "" });
  return { yes: match === "yes", no: match === "no", unclear: match === "unclear" };
}

/** The only values that can meet a condition; `undefined` if there may be others. */
export function wantedBy(condition: RuleCondition): readonly JsonValue[] | undefined {
  if ("equals" in condition) return [condition.equals];
  if ("oneOf" in condition) return condition.oneOf;
  if ("all" in condition) return condition.all.map(wantedBy).find((wanted) => wanted !== undefined);
  if (!("any" in condition)) return undefined;
  const wanted = condition.any.map(wantedBy);
  return wanted.every((each) => each !== undefined) ? wanted.flat() : undefined;
}

function negated({ yes, no, unclear }: Possible): Possible {
  return { yes: no, no: yes, unclear };
}

/** Whether no value meets all of some conditions: no number is in all ranges, no text begins with all prefixes, or one negates another. */
function areContradictory(values: PossibleValues, parts: readonly RuleCondition[]): boolean {
  const all = parts.flatMap((part): readonly RuleCondition[] => ("all" in part ? part.all : [part]));
  const ranges = all.flatMap((part) => ("range" in part ? [part.range] : []));
  const min = Math.max(...ranges.map((range) => range.min ?? Number.NEGATIVE_INFINITY));
  const max = Math.min(...ranges.map((range) => range.max ?? Number.POSITIVE_INFINITY));
  if (ranges.length > 1 && !canBeWithin(values, min, max)) return true;
  const prefixes = all.flatMap((part) => ("prefix" in part ? [part.prefix] : []));
  const longest = prefixes.reduce((one, other) => (one.length < other.length ? other : one), "");
  if (prefixes.some((prefix) => !longest.startsWith(prefix))) return true;
  const texts = new Set(all.map((part) => JSON.stringify(part)));
  return all.some((part) => "not" in part && texts.has(JSON.stringify(part.not)));
}

/** Parts may contradict each other, so that what each may give, all together may not. */
function allOf(parts: readonly Possible[]): Possible {
  return {
    yes: parts.every(({ yes }) => yes),
    no: parts.some(({ no }) => no),
    unclear: parts.some(({ unclear }) => unclear),
  };
}

/** Whether every text with a beginning is ambiguous, so that it never matches. */
export function isNeverPlain(beginning: string): boolean {
  return ["", "a", "a/a", "/a"].every((rest) => isAmbiguous(`${beginning}${rest}`));
}

const DOT_NAME = /(?:^|\/)\.{1,2}(?:\/|$)/;

/** Whether a glob matches only ambiguous texts. */
function isImpossibleGlob(glob: string): boolean {
  if (!/[*?[{]/.test(glob)) return isAmbiguous(glob);
  const [beginning = ""] = glob.split(/[*?[{]/, 1);
  if (beginning !== "" && isNeverPlain(beginning)) return true;
  return !glob.includes("{") && DOT_NAME.test(glob);
}

/** The least number of characters of a text that a glob matches. */
function shortestOf(glob: string): number {
  if (glob.includes("{")) return 0;
  return [
    ...glob
      .replace(/\/?\*\*\/?/g, "")
      .replaceAll("*", "")
      .replace(/\[[^\]]*\]/g, "?"),
  ].length;
}

function reasonOf(root: JsonObject, values: PossibleValues, condition: RuleCondition): string {
  if ("not" in condition)
    return "every value that is possible here meets the condition that it must not meet, or it is unclear";
  if ("all" in condition) {
    const part = condition.all.map((each) => whyNever(root, values, each)).find((why) => why !== undefined);
    return part ?? "no value that is possible here meets all of these conditions";
  }
  if ("any" in condition) {
    const part = condition.any.map((each) => whyNever(root, values, each)).find((why) => why !== undefined);
    return part ?? "no value that is possible here meets one of these conditions";
  }
  if ("equals" in condition) return `${shownValue(condition.equals)} ${isNot(root, values)}`;
  if ("oneOf" in condition)
    return `none of ${condition.oneOf.map(shownValue).join(", ")} ${isNot(root, values).replace("is not", "is")}`;
  if ("range" in condition) {
    return canBe(values, "number")
      ? "no number that is possible here is in this range"
      : "a range requires a number, and this argument is never one";
  }
  if ("from" in condition) return "only texts and numbers come from a source, and this argument is neither";
  if (!canBe(values, "string")) return "a string is required here, and this argument is never one";
  const few = fewValues(root, values);
  if (few !== undefined) return `it matches none of the possible values: ${listed(few)}`;
  const [pattern = ""] =
    "glob" in condition ? [condition.glob].flat() : "prefix" in condition ? [condition.prefix] : [];
  if (/^(?:\.\/)+(?=.)/.test(pattern)) {
    return `a path with './' is ambiguous and matches nothing: write '${pattern.replace(/^(?:\.\/)+/, "")}'`;
  }
  const shortest = "prefix" in condition ? [...pattern].length : shortestOf(pattern);
  if (longestText(values) < shortest)
    return `it is longer than any text that is possible here: ${longestText(values)} characters`;
  return "every text that it could match is ambiguous, and matches nothing: write it without '.', '..' and empty names, backslashes and encoded characters";
}

function isNot(root: JsonObject, values: PossibleValues): string {
  const few = fewValues(root, values);
  return few === undefined
    ? "is not a value that the schema allows here"
    : `is not one of the possible values: ${listed(few)}`;
}

const MAX_SHOWN = 10;

function listed(values: readonly JsonValue[]): string {
  const shown = values.slice(0, MAX_SHOWN).map(shownValue).join(", ");
  return values.length > MAX_SHOWN ? `${shown}, …` : shown;
}

function shownValue(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
