import { closingQuote } from "./refusal.ts";
import type { JsonValue } from "./value.ts";

/** A part of a JSON text, as it is written. */
export interface RawPart {
  readonly text: string;
  /** How many values it has, empty objects and lists counted twice. */
  readonly values: number;
}

/** A member of an object, as it is written. */
export interface RawMember extends RawPart {
  readonly name: string;
}

/**
 * Splits the text of an array into its items, without parsing them: an item that cannot be used then costs only itself.
 *
 * @returns `undefined` if the text is not an array. The items need not be valid JSON.
 */
export function rawItems(text: string): readonly RawPart[] | undefined {
  return partsOf(text, "[", "]");
}

/**
 * Splits the text of an object into its members, including several of one name.
 *
 * @returns `undefined` if the text is not an object. The values of the members need not be valid JSON.
 */
export function rawMembers(text: string): readonly RawMember[] | undefined {
  const members: RawMember[] = [];
  for (const part of partsOf(text, "{", "}") ?? [{ text: "", values: 0 }]) {
    const end = part.text.startsWith('"') ? closingQuote(part.text, 0) : -1;
    const value = /^\s*:(.*)$/s.exec(part.text.slice(end + 1))?.[1];
    const name = end === -1 ? undefined : parsedText(part.text.slice(0, end + 1));
    if (name === undefined || value === undefined) return undefined;
    members.push({ name, text: value.trim(), values: part.values });
  }
  return members;
}

function partsOf(text: string, opening: string, closing: string): readonly RawPart[] | undefined {
  const inside = text.trim();
  if (!inside.startsWith(opening) || !inside.endsWith(closing) || inside.length < 2) return undefined;
  const parts: RawPart[] = [];
  let depth = 0;
  let start = 1;
  let values = 1;
  const add = (end: number): void => {
    parts.push({ text: inside.slice(start, end).trim(), values });
    start = end + 1;
    values = 1;
  };
  for (let at = 0; at < inside.length; at++) {
    switch (inside[at]) {
      case '"':
        at = closingQuote(inside, at);
        if (at === -1) return undefined;
        break;
      case "{":
      case "[":
        depth++;
        values++;
        break;
      case "}":
      case "]":
        if (--depth === 0 && at < inside.length - 1) return undefined;
        break;
      case ",":
        if (depth === 1) add(at);
        else values++;
        break;
    }
  }
  if (depth !== 0) return undefined;
  if (parts.length > 0 || inside.slice(1, -1).trim() !== "") add(inside.length - 1);
  return parts;
}

function parsedText(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

/** The part of `JSON` that TypeScript's library does not declare (ECMAScript proposal "JSON.parse source text access"). */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): JsonValue;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}

const SOURCE_TEXT_JSON = JSON as unknown as SourceTextJson;

/** Parses JSON. Numbers for which `isRaw` returns true become objects that are serialised as they were written. */
export function parseKeepingNumbers(text: string, isRaw: (literal: string) => boolean): JsonValue {
  return SOURCE_TEXT_JSON.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && isRaw(source)
      ? SOURCE_TEXT_JSON.rawJSON(source)
      : value,
  );
}

/** Returns whether a value is a raw number of {@link parseKeepingNumbers}. */
export function isRawNumber(value: unknown): boolean {
  return SOURCE_TEXT_JSON.isRawJSON(value);
}
