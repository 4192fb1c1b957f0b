import { copyJson } from "../../json/copy.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";

/**
 * Reads arguments from an unchecked value. Text is checked when it is parsed, which gives positions; any other value is
 * checked as it is copied here.
 *
 * @throws {JsonValueError} and anything that reading the value throws.
 */
export function receiveArguments(given: unknown): JsonValue {
  return typeof given === "string" ? given : copyJson(given);
}

/** The text for the model if arguments, or the call that they belong to, cannot be read. */
export function unreadableText(thrown: unknown): string {
  return `Invalid arguments: ${isJsonValueError(thrown) ? thrown.message : "it cannot be read"}`;
}

/** Whether a value is that error. A thrown proxy may throw when it is asked. */
function isJsonValueError(thrown: unknown): thrown is JsonValueError {
  try {
    return thrown instanceof JsonValueError;
  } catch {
    return false;
  }
}
