import { formatBytes } from "../../base/units.ts";
import { MAX_DEPTH } from "../../json/value.ts";
import { ProtocolError } from "./shape.ts";

/** The maximum number of calls in one message. */
export const MAX_CALLS = 1_024;
/** The maximum length of one call's streamed arguments, in UTF-16 code units. The engine parses less than that. */
export const MAX_ARGUMENTS_LENGTH: number = 16 * 1_024 * 1_024;
/** The maximum length of a stream, in bytes. */
export const MAX_STREAM_BYTES: number = 64 * 1_024 * 1_024;

/** @throws {ProtocolError} if a message has more calls than {@link MAX_CALLS}. */
export function checkCallCount(count: number): void {
  if (count > MAX_CALLS) throw new ProtocolError("", `has more than ${MAX_CALLS} calls`);
}

/** @throws {ProtocolError} if one call's arguments are longer than {@link MAX_ARGUMENTS_LENGTH}. */
export function checkArgumentsLength(length: number): void {
  if (length <= MAX_ARGUMENTS_LENGTH) return;
  throw new ProtocolError("", `has arguments longer than ${formatBytes(MAX_ARGUMENTS_LENGTH)}`);
}

/** The maximum depth of a message: twice that of arguments, for the message around them. */
export const MAX_MESSAGE_DEPTH: number = 2 * MAX_DEPTH;

/** Returns the index at which a valid JSON text exceeds {@link MAX_MESSAGE_DEPTH}; `undefined` if it does not. */
export function findExcessiveDepth(text: string): number | undefined {
  // A text of this depth has at least as many opening as closing brackets.
  if (text.length <= 2 * MAX_MESSAGE_DEPTH) return undefined;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === "\\" ? 1 : 0;
    else if (character === "{" || character === "[") {
      if (++depth > MAX_MESSAGE_DEPTH) return at;
    } else if (character === "}" || character === "]") depth--;
  }
  return undefined;
}
