import type { JsonBounds } from "../../json/bounds.ts";
import { locateRefusal } from "../../json/refusal.ts";
import type { ServiceError } from "./service-request.ts";

/** The longest name of a tool that is looked up, in UTF-16 code units. */
const MAX_NAME_LENGTH = 256;

/**
 * Stricter than the engine's bounds for arguments of a model, which cannot make as many calls. Objects and different
 * names take the process the longest.
 */
const INPUT_BOUNDS: JsonBounds = Object.freeze({
  length: 2 * 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
  names: 5_000,
});

/** Inputs up to this length are too small to take the engine long. */
const MAX_UNSCANNED_LENGTH = 32 * 1_024;

/**
 * Returns why a nested call is refused before the process sees it; `undefined` if it is not. Called in the guest's
 * thread.
 *
 * @param input The arguments as JSON text.
 */
export function nestedCallProblem(name: string, input: string): ServiceError | undefined {
  if (name.length > MAX_NAME_LENGTH) {
    return {
      code: "not_found",
      message: `there is no such tool: its name is longer than ${MAX_NAME_LENGTH} characters`,
    };
  }
  if (input.length <= MAX_UNSCANNED_LENGTH) return undefined;
  const refusal = locateRefusal(input, INPUT_BOUNDS, "structure");
  if (refusal === undefined) return undefined;
  const { reason, position } = refusal;
  return {
    code: "validation_error",
    message: `the arguments are refused: ${reason} at position ${position}`,
  };
}
