import { parseKeepingNumbers } from "../../json/raw-json.ts";
import { refuseNumber } from "../../json/refusal.ts";
import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "./limits.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Matches every JSON text with a number that a double may not hold: it has many digits, or an exponent. */
export const MAY_BE_INEXACT: RegExp = /\d{16}|\d[eE][-+]?\d/;

/**
 * Parses a message or an event. A number that a double may not hold is retained as it is written, so that the
 * engine can check it where it is an argument.
 *
 * @throws {ProtocolError} if the text is not JSON, or nested too deeply.
 */
export function parseMessage(text: string): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new ProtocolError("", "is not valid JSON");
  }
  if (findExcessiveDepth(text) !== undefined) {
    throw new ProtocolError("", `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`);
  }
  return MAY_BE_INEXACT.test(text) ? parseKeepingNumbers(text, isInexact) : message;
}

/** An integer beyond 2⁵³ may be exact, but once it is parsed, that cannot be told any more. */
function isInexact(literal: string): boolean {
  return refuseNumber(literal) !== undefined || Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER;
}
