import { ARGUMENT_BOUNDS } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import type { DuplicateKeys } from "../../json/duplicate-keys.ts";
import { parseJson } from "../../json/parse.ts";
import type { JsonValue } from "../../json/value.ts";
import { unreadableText } from "./receive-arguments.ts";

/** Arguments to validate, or a text that tells the model why they cannot be parsed. */
export type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/** Parses arguments that are text, and returns others unchanged. The value is deeply frozen. */
export function parseArguments(args: JsonValue, duplicateKeys?: DuplicateKeys): ParsedArguments {
  if (typeof args !== "string") return { value: args };
  const parsed = parseJson(args, ARGUMENT_BOUNDS, duplicateKeys);
  if ("value" in parsed) return parsed;
  const { kind, reason, position } = parsed;
  const what = kind === "syntax" ? "Invalid JSON" : "Invalid arguments";
  return { problem: `${what}: ${reason} at position ${position}` };
}

/** Reads the input of a free-form tool: text is the input itself, not JSON. */
export function readText(input: JsonValue): ParsedArguments {
  try {
    // Checks its bounds, and that it has no unpaired surrogates.
    return { value: copyJson(input) };
  } catch (error) {
    return { problem: unreadableText(error) };
  }
}

/** Returns a hint for the model if arguments were encoded as JSON twice, and otherwise `undefined`. */
export function doubleEncodingHint(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return undefined;
  return "the arguments are a string that holds JSON: send the object itself";
}
