import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { MAX_AMOUNT_POINTER } from "../../policy/history/call-ledger.ts";

/** How many numbers of a call are stored, and how many values are looked at to find them. */
const MAX_NUMBERS = 16;
const MAX_VALUES = 256;

const NONE: ReadonlyMap<string, number> = new Map();

/**
 * Returns the numbers among the arguments of a call by their pointers (RFC 6901), those closest to the root first. What
 * is left out of a large input counts as unknown, so that no sum is decided without it.
 */
export function numbersOf(input: JsonValue): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const values: (readonly [pointer: string, value: JsonValue])[] = [["", input]];
  for (const [pointer, value] of values) {
    if (found.size === MAX_NUMBERS) break;
    if (typeof value === "number") found.set(pointer, value);
    else addMembers(values, pointer, value);
  }
  return found.size === 0 ? NONE : found;
}

function addMembers(values: (readonly [string, JsonValue])[], base: string, value: JsonValue): void {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    for (let index = 0; index < items.length && values.length < MAX_VALUES; index++) {
      addMember(values, `${base}/${index}`, items[index]);
    }
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      if (values.length >= MAX_VALUES) return;
      addMember(values, `${base}/${escapePointer(name)}`, value[name]);
    }
  }
}

function addMember(
  values: (readonly [string, JsonValue])[],
  pointer: string,
  value: JsonValue | undefined,
): void {
  const isRelevant = typeof value === "number" || (typeof value === "object" && value !== null);
  if (isRelevant && pointer.length <= MAX_AMOUNT_POINTER) values.push([pointer, value]);
}
