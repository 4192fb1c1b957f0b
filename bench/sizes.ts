import type { JsonObject } from "sandgate";

/** Sizes of arguments, in bytes of JSON text. */
export const SIZES: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/** Longer arguments, in characters, are refused without being parsed. */
const MAX_ARGUMENTS = 2 * 1_024 * 1_024;

/** The schema of {@link sizedText}. */
export const TEXT_SCHEMA: JsonObject = {
  type: "object",
  properties: { lines: { type: "array", items: { type: "string" } } },
  required: ["lines"],
  additionalProperties: false,
};

/** Returns arguments of this size: the lines of a file, each of about 80 characters. */
export function sizedText(bytes: number): string {
  const line = "a line of a file, as a tool that edits it would be given: fifty-odd characters, ok";
  const count = Math.max(1, Math.floor((bytes - '{"lines":[]}'.length) / (line.length + 3)));
  return JSON.stringify({ lines: Array.from({ length: count }, () => line) });
}

/** Formats a size, such as `1 KB`. */
export function sizeName(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${bytes / 1_000} KB` : `${bytes / 1_000_000} MB`;
}

/** Returns a suffix for the names of cases whose arguments a dispatch refuses, otherwise `""`. */
export function refusedText(bytes: number): string {
  return bytes > MAX_ARGUMENTS ? ", which refuses it for its size" : "";
}
