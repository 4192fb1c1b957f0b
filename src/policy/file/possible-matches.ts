import type { JsonObject, JsonValue } from "../../json/value.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { canBeText } from "../possible/possible-texts.ts";
import {
  accepts,
  canBe,
  fewValues,
  listedValues,
  numbersBetween,
  type PossibleValues,
} from "../possible/possible-values.ts";
import { globTexts, regexTexts } from "../possible/schema-values.ts";
import { compileCondition } from "../rule/conditions/condition.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import type { RuleCondition } from "../rule/rule.ts";

/** What a condition may give for some value. What is `false` it certainly never gives. */
interface Possible {
  readonly yes: boolean;
  readonly no: boolean;
  readonly unclear: boolean;
}

const ALL: Possible = { yes: true, no: true, unclear: true };

/**
 * Says why no value of a place can meet a condition; `undefined` if some value may. What depends on earlier calls is taken to be
 * possible.
 */
export function whyNever(
  root: JsonObject,
  values: PossibleValues,
  condition: RuleCondition,
): string | undefined {
  try {
    return canBeMet(root, values, condition) ? undefined : reasonOf(root, values, condition);
  } catch (error) {
    // An invalid pattern is reported as such.
    if (error instanceof PatternError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function canBeMet(root: JsonObject, values: PossibleValues, condition: RuleCondition): boolean {
  // Other values than those that are wanted do not meet the condition.
  const few = fewValues(root, values) ?? wantedBy(condition);
  const tried = few ?? [
    null,
    true,
    false,
    ...listedValues(values),
    ...textsOf(condition),
    ...numbersBetween(values, boundsIn(condition)),
  ];
  if (tried.some((value) => accepts(root, values, value) && given(condition, value).yes)) return true;
  if (few !== undefined) return false;
  return (
    values.some((schemas) => canBe([schemas], "string") && canBeText(schemas, condition)) ||
    (["array", "object"] as const).some((type) => canBe(values, type) && ofContainer(condition, type).yes)
  );
}

/** The numbers with which a condition compares. */
function boundsIn(written: RuleCondition): readonly number[] {
  const condition = unlessReferring(written);
  if (condition === undefined) return [];
  if ("not" in condition) return boundsIn(condition.not);
  if ("all" in condition) return condition.all.flatMap(boundsIn);
  if ("any" in condition) return condition.any.flatMap(boundsIn);
  const { range = {} } = condition as { readonly range?: { readonly min?: number; readonly max?: number } };
  const compared = [range.min, range.max, ...(wantedBy(condition) ?? [])];
  return compared.filter((each) => typeof each === "number");
}

/** Texts that most likely meet a condition, so that there is no need to search for one. */
function textsOf(written: RuleCondition): readonly string[] {
  const condition = unlessReferring(written);
  if (condition === undefined) return [];
  if ("glob" in condition) return [condition.glob].flat().flatMap(globTexts);
  if ("prefix" in condition) return [condition.prefix, `${condition.prefix}a`];
  if ("regex" in condition) return regexTexts(condition.regex);
  if ("all" in condition) return condition.all.flatMap(textsOf);
  return "any" in condition ? condition.any.flatMap(textsOf) : ["a", "other"];
}

/** What a condition may give for lists and objects, of which only some are named. */
function ofContainer(written: RuleCondition, type: "array" | "object"): Possible {
  const condition = unlessReferring(written);
  if (condition === undefined) return ALL;
  if ("not" in condition) return negated(ofContainer(condition.not, type));
  if ("all" in condition) return allOf(condition.all.map((part) => ofContainer(part, type)));
  if ("any" in condition)
    return negated(allOf(condition.any.map((part) => negated(ofContainer(part, type)))));
  if ("from" in condition) return { ...ALL, yes: type === "array" };
  const isTextual = "glob" in condition || "prefix" in condition || "regex" in condition;
  return isTextual || "range" in condition ? { yes: false, no: false, unclear: true } : ALL;
}

/** What a condition gives for one value, as far as it does not depend on earlier calls. */
export function given(written: RuleCondition, value: JsonValue): Possible {
  const condition = unlessReferring(written);
  if (condition === undefined) return ALL;
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

/** The only values that can meet a condition; `undefined` if they cannot be listed. */
export function wantedBy(written: RuleCondition): readonly JsonValue[] | undefined {
  const condition = unlessReferring(written);
  if (condition === undefined) return undefined;
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

/** Parts may contradict each other, so that what each may give, all together may not. */
function allOf(parts: readonly Possible[]): Possible {
  return {
    yes: parts.every(({ yes }) => yes),
    no: parts.some(({ no }) => no),
    unclear: parts.some(({ unclear }) => unclear),
  };
}

function reasonOf(root: JsonObject, values: PossibleValues, written: RuleCondition): string {
  const condition = unlessReferring(written);
  if (condition === undefined) return "no value that is possible here can be compared with what it refers to";
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
  if (!canBeText([], condition)) {
    return pattern === ""
      ? "no text at all matches this regular expression"
      : "every text that it could match is ambiguous, and matches nothing: write it without '.', '..' and empty names, backslashes and encoded characters";
  }
  return `no text that the schema allows here matches it${detailOf(values)}`;
}

/** What a schema requires of texts, if there is one schema. */
function detailOf([schemas = [], ...others]: PossibleValues): string {
  if (others.length > 0) return "";
  const details = schemas.flatMap((schema) =>
    ["format", "pattern", "minLength", "maxLength"].flatMap((name) => {
      const value = schema[name];
      return value === undefined ? [] : [`${name} ${shownValue(value)}`];
    }),
  );
  return details.length === 0 ? "" : `: ${details.join(", ")}`;
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
