import { canonicalText } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import { meter } from "./work-meter.ts";

/** How many characters of canonical text, and of a text that is compared, take as long as one keyword. */
const CHARACTERS_PER_WORK = 6;
const COMPARED_PER_WORK = 1_024;

/** The work of looking a value up, and of adding a number to a set. */
const LOOKUP_WORK = 0.4;
const NODE_WORK = 3;

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
