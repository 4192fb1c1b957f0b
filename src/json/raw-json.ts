import type { JsonValue } from "./value.ts";

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

/** Parses JSON. Numbers for which `keeps` returns true become objects that are serialised as they were written. */
export function parseKeepingNumbers(text: string, keeps: (literal: string) => boolean): JsonValue {
  return SOURCE_TEXT_JSON.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && keeps(source)
      ? SOURCE_TEXT_JSON.rawJSON(source)
      : value,
  );
}

/** Returns whether a value is a number that {@link parseKeepingNumbers} kept. */
export function isRawNumber(value: unknown): boolean {
  return SOURCE_TEXT_JSON.isRawJSON(value);
}
