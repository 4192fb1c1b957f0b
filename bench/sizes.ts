import type { JsonObject } from "sandgate";

/** Sizes of arguments, in bytes of JSON text. */
export const SIZES: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/** Arguments beyond this many characters are refused before they are read. */
const MAX_ARGUMENTS = 2 * 1_024 * 1_024;

/** The schema of {@link sizedText}. */
export const TEXT_SCHEMA: JsonObject = {
  type: "object",
  properties: { lines: { type: "array", items: { type: "string" } } },
  required: ["lines"],
  additionalProperties: false,
};

/** Arguments of that size: a file's lines, 80 characters each. */
export function sizedText(bytes: number): string {
  const line = "a line of a file, as a tool that edits it would be given: fifty-odd characters, ok";
  const count = Math.max(1, Math.floor((bytes - '{"lines":[]}'.length) / (line.length + 3)));
  return JSON.stringify({ lines: Array.from({ length: count }, () => line) });
}

/** `1 KB`, as people say it. */
export function sizeName(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${bytes / 1_000} KB` : `${bytes / 1_000_000} MB`;
}

/** What to say of arguments that a dispatch refuses; nothing of those that it takes. */
export function refusedText(bytes: number): string {
  return bytes > MAX_ARGUMENTS ? ", which refuses it for its size" : "";
}
