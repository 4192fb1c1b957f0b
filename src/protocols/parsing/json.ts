import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "./limits.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Parses a message or an event. @throws {ProtocolError} if it is not JSON, or nested too deeply. */
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
  return message;
}
