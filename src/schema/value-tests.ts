import { canonicalText } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import { meter } from "./work-meter.ts";

/** How many characters of canonical text take as long as one keyword. */
const CHARACTERS_PER_WORK = 16;

/** Returns a test whether a value is one of these. It takes a single lookup for any number of values. */
export function oneOf(values: readonly JsonValue[]): (value: JsonValue) => boolean {
  const scalars = new Set<JsonValue>(values.filter((value) => !isNode(value)));
  const nodes = new Set(values.filter(isNode).map(canonicalText));
  return (value) => (isNode(value) ? nodes.size > 0 && nodes.has(chargedText(value)) : scalars.has(value));
}

/** Returns whether no two items are equal. */
export function isUnique(items: readonly JsonValue[]): boolean {
  const distinct = new Set(items.map((item) => (typeof item === "number" ? item : chargedText(item))));
  return distinct.size === items.length;
}

function isNode(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
}

/** Returns the canonical text of a value, which many keywords may ask for. */
function chargedText(value: JsonValue): string {
  const text = canonicalText(value);
  meter.charge(2 + text.length / CHARACTERS_PER_WORK);
  return text;
}
