import { beginning } from "../base/text.ts";
import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { Pattern } from "../patterns/pattern.ts";
import { meter } from "./bounds.ts";
import { type CheckedFormat, checkedFormats, equals, isUnique, oneOf } from "./formats.ts";

/** An error of a validation, as ajv reports it. */
export interface ValidationError {
  /** A JSON pointer to the value. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Record<string, unknown>;
}

/** What is wrong with a value; `undefined` if nothing is. */
export type Errors = readonly ValidationError[] | undefined;

/** Maximum number of errors that are retained of the branches of `anyOf` and `oneOf`. */
const MAX_ERRORS = 20;

/** How much of a name is in a path. Texts have less of it. */
const MAX_KEY_LENGTH = 512;

/** Checks a value against a keyword without subschemas. Texts are those of ajv. */
type Assertion = (expected: never, value: JsonValue) => Errors;

/** How much of a list of names is in an error, so that thousands of errors stay small. */
const MAX_NAMES_LISTED = 64;
const MAX_NAME_LENGTH = 256;

let formats: Record<string, CheckedFormat> | undefined;

/** Tests of values, each made when it is first needed. */
type Tests = WeakMap<object, (value: JsonValue) => boolean>;

const enumTests: Tests = new WeakMap();
const constTests: Tests = new WeakMap();

/** The assertions by keyword, except for `pattern`. Values of other types than its own pass. */
export const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  type: (types: string | readonly string[], value) =>
    (typeof types === "string" ? hasType(value, types) : types.some((type) => hasType(value, type)))
      ? undefined
      : error("type", `must be ${types}`),
  enum: (allowedValues: readonly JsonValue[], value) =>
    enumTest(allowedValues)(value)
      ? undefined
      : error("enum", "must be equal to one of the allowed values", { allowedValues }),
  const: (allowedValue: JsonValue, value) =>
    constTest(allowedValue)(value)
      ? undefined
      : error("const", "must be equal to constant", { allowedValue }),

  multipleOf: number((value, factor) => isMultiple(value, factor), "multipleOf", "be multiple of"),
  maximum: number((value, bound) => value <= bound, "maximum", "be <="),
  exclusiveMaximum: number((value, bound) => value < bound, "exclusiveMaximum", "be <"),
  minimum: number((value, bound) => value >= bound, "minimum", "be >="),
  exclusiveMinimum: number((value, bound) => value > bound, "exclusiveMinimum", "be >"),

  maxLength: count(lengthOf, "maxLength", "characters"),
  minLength: count(lengthOf, "minLength", "characters"),
  format: (name: string, value) =>
    matchesFormat(name, value) ? undefined : error("format", `must match format "${name}"`),

  maxItems: count(itemsOf, "maxItems", "items"),
  minItems: count(itemsOf, "minItems", "items"),
  uniqueItems: (isAsked: boolean, value) =>
    !isAsked || !Array.isArray(value) || isUnique(value)
      ? undefined
      : error("uniqueItems", "must NOT have duplicate items"),

  maxProperties: count(membersOf, "maxProperties", "properties"),
  minProperties: count(membersOf, "minProperties", "properties"),
  required: (names: readonly string[], value) => {
    if (!isJsonObject(value)) return undefined;
    meter.charge(names.length / 4);
    const missingProperty = names.find((name) => !Object.hasOwn(value, name));
    if (missingProperty === undefined) return undefined;
    return error("required", `must have required property '${missingProperty}'`, { missingProperty });
  },
  dependentRequired: (dependencies: Readonly<Record<string, readonly string[]>>, value) => {
    if (!isJsonObject(value)) return undefined;
    for (const name of Object.keys(value)) {
      const missing = missingFor(name, dependencies, value);
      if (missing !== undefined) return missing;
    }
    return undefined;
  },
};

/** Checks the names on which a member depends. */
export function missingFor(
  name: string,
  dependencies: Readonly<Record<string, unknown>>,
  value: JsonObject,
): Errors {
  meter.charge(1);
  const names = Object.hasOwn(dependencies, name) ? dependencies[name] : undefined;
  if (!Array.isArray(names)) return undefined;
  meter.charge(names.length / 4);
  if (names.every((other: string) => Object.hasOwn(value, other))) return undefined;
  const what = names.length === 1 ? "property" : "properties";
  const listed = names.slice(0, MAX_NAMES_LISTED).map((other: string) => beginning(other, MAX_NAME_LENGTH));
  return error(
    "dependentRequired",
    `must have ${what} ${listed.join(", ")} when property ${name} is present`,
  );
}

/** Checks a text against a pattern. */
export function assertPattern(source: string, pattern: Pattern, text: string): Errors {
  return matches(pattern, text) ? undefined : error("pattern", `must match pattern "${source}"`);
}

/** Matches a text with a pattern. */
export function matches(pattern: Pattern, text: string): boolean {
  meter.charge(1 + text.length * pattern.work);
  return pattern.test(text);
}

function number(
  isMet: (value: number, expected: number) => boolean,
  keyword: string,
  words: string,
): (expected: number, value: JsonValue) => Errors {
  return (expected, value) =>
    typeof value !== "number" || isMet(value, expected)
      ? undefined
      : error(keyword, `must ${words} ${expected}`);
}

/** An assertion on a count, which is `undefined` for values of other types. The keyword begins with `max` or `min`. */
function count(
  countOf: (value: JsonValue) => number | undefined,
  keyword: string,
  what: string,
): (expected: number, value: JsonValue) => Errors {
  const isMaximum = keyword.startsWith("max");
  return (expected, value) => {
    const found = countOf(value);
    if (found === undefined || (isMaximum ? found <= expected : found >= expected)) return undefined;
    return error(keyword, `must NOT have ${isMaximum ? "more" : "fewer"} than ${expected} ${what}`);
  };
}

function hasType(value: JsonValue, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Follows ajv, so that large schemas accept the same values as small ones. */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return quotient === Number.parseInt(String(quotient), 10);
}

function enumTest(values: readonly JsonValue[]): (value: JsonValue) => boolean {
  return madeOnce(enumTests, values, () => oneOf(values));
}

function constTest(allowed: JsonValue): (value: JsonValue) => boolean {
  if (typeof allowed !== "object" || allowed === null) return equals(allowed);
  return madeOnce(constTests, allowed, () => equals(allowed));
}

function madeOnce(
  tests: Tests,
  key: object,
  make: () => (value: JsonValue) => boolean,
): (value: JsonValue) => boolean {
  let test = tests.get(key);
  if (test === undefined) {
    test = make();
    tests.set(key, test);
  }
  return test;
}

function matchesFormat(name: string, value: JsonValue): boolean {
  formats ??= checkedFormats();
  const format = formats[name];
  if (format === undefined || format === true) return true;
  if (typeof format === "function") return typeof value !== "string" || format(value);
  return typeof value !== "number" || format.validate(value);
}

/** The number of code points. */
function lengthOf(value: JsonValue): number | undefined {
  if (typeof value !== "string") return undefined;
  meter.charge(value.length / 64);
  let length = value.length;
  for (let at = 0; at < value.length; at++) {
    // Arguments have no unpaired surrogates.
    const unit = value.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) length--;
  }
  return length;
}

function itemsOf(value: JsonValue): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function membersOf(value: JsonValue): number | undefined {
  if (!isJsonObject(value)) return undefined;
  return meter.countMembers(value);
}

/** An error of the value itself. */
export function error(keyword: string, message: string, params: Record<string, unknown> = {}): Errors {
  return [{ instancePath: "", keyword, message, params }];
}

/** The errors of a member or item, as errors of what contains it. */
export function inside(key: string | number, errors: Errors): Errors {
  if (errors === undefined) return undefined;
  const step = `/${escapePointer(beginning(String(key), MAX_KEY_LENGTH))}`;
  return errors.map((each) => ({ ...each, instancePath: step + each.instancePath }));
}

/** The errors of some branches, and then one of the keyword that has them. */
export function causedBy(causes: readonly ValidationError[], own: Errors): Errors {
  return [...causes.slice(0, MAX_ERRORS), ...(own ?? [])];
}
