import { loadAjv } from "../base/load-ajv.ts";
import { canonicalText } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import { compileLinear } from "../patterns/pattern.ts";
import { meter } from "./bounds.ts";

/** How many characters of canonical text, and of a text that is compared, take as long as one keyword. */
const CHARACTERS_PER_WORK = 6;

const COMPARED_PER_WORK = 1_024;

/** The work of looking a value up, and of adding a number to a set. */
const LOOKUP_WORK = 0.4;

const NODE_WORK = 3;

/** The maximum length of a string with a format, in UTF-16 code units. Longer ones fail without being examined. */
export const MAX_FORMATTED_LENGTH = 2_048;

/** Formats of content. They may have any length, as their checks are cheap. */
const CONTENT: ReadonlySet<string> = new Set(["byte", "binary", "password"]);

/** How many characters of a content take as long to check as one keyword. */
const CONTENT_PER_WORK = 32;

/** A format definition of ajv. */
export type CheckedFormat =
  | true
  | ((text: string) => boolean)
  | { readonly type: "number"; readonly validate: (value: number) => boolean };

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WEB_SCHEME = /^(?:https?|ftp):\/\/[^/]/i;

/** Returns whether a format is checked. All other formats are annotations. */
export function isKnownFormat(name: string): boolean {
  return Object.hasOwn(loadAjv().fullFormats, name);
}

/** The formats of ajv-formats, made safe for untrusted strings. */
export function checkedFormats(): Record<string, CheckedFormat> {
  const formats: Record<string, CheckedFormat> = {};
  for (const [name, format] of Object.entries({ ...loadAjv().fullFormats, ...REPLACEMENTS })) {
    formats[name] = guard(name, format as Parameters<typeof guard>[1]);
  }
  return formats;
}

let reference: ReturnType<typeof compileLinear> | undefined;

function isReference(text: string): boolean {
  reference ??= compileLinear(referencePattern(), { ignoreCase: true });
  return reference.test(text);
}

/** The pattern of ajv-formats, without the quotation mark, which RFC 3986 (appendix A) has in no part of a reference. */
function referencePattern(): string {
  return (loadAjv().fullFormats["uri-reference"] as RegExp).source.replaceAll('"', "");
}

/** Replacements for formats that take quadratic time in ajv-formats or compile what they are given. */
const REPLACEMENTS: Readonly<Record<string, (text: string) => boolean>> = {
  "uri-reference": isReference,
  uri: (text) => SCHEME.test(text) && isReference(text),
  url: (text) => WEB_SCHEME.test(text) && isReference(text),
  regex: isRegularExpression,
};

function isRegularExpression(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

function guard(
  name: string,
  format: true | RegExp | ((text: string) => boolean) | { type?: string; validate: unknown },
): CheckedFormat {
  if (format === true) return true;
  if (typeof format === "object" && "type" in format) return format as CheckedFormat;
  const given = typeof format === "object" && "validate" in format ? format.validate : format;
  const check =
    given instanceof RegExp ? (text: string) => given.test(text) : (given as (text: string) => boolean);
  if (CONTENT.has(name)) {
    return (text) => {
      meter.charge(text.length / CONTENT_PER_WORK);
      return check(text);
    };
  }
  return (text) => {
    meter.charge(text.length);
    return text.length <= MAX_FORMATTED_LENGTH && check(text);
  };
}

/** Returns a test whether a value is one of these. It takes a single lookup for any number of values. */
export function oneOf(values: readonly JsonValue[]): (value: JsonValue) => boolean {
  const scalars = new Set<JsonValue>(values.filter((value) => !isNode(value)));
  const nodes = new Set(values.filter(isNode).map(canonicalText));
  return (value) => {
    meter.charge(LOOKUP_WORK + (typeof value === "string" ? value.length / COMPARED_PER_WORK : 0));
    return isNode(value) ? nodes.size > 0 && nodes.has(chargedText(value)) : scalars.has(value);
  };
}

/** Returns a test whether a value equals this one. */
export function equals(expected: JsonValue): (value: JsonValue) => boolean {
  if (isNode(expected)) return oneOf([expected]);
  return (value) => {
    if (typeof value === "string") meter.charge(value.length / COMPARED_PER_WORK);
    return value === expected;
  };
}

/** Returns whether no two items are equal. */
export function isUnique(items: readonly JsonValue[]): boolean {
  meter.charge(items.length * LOOKUP_WORK);
  const distinct = new Set(items.map((item) => (typeof item === "number" ? item : chargedText(item))));
  return distinct.size === items.length;
}

function isNode(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
}

/** Returns the canonical text of a value, which many keywords may ask for. */
function chargedText(value: JsonValue): string {
  const text = canonicalText(value);
  meter.charge((isNode(value) ? NODE_WORK : LOOKUP_WORK) + text.length / CHARACTERS_PER_WORK);
  return text;
}
