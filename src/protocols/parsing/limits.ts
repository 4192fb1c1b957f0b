import { formatBytes } from "../../policy/grant/limits.ts";
import { ProtocolError } from "./protocol-error.ts";

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
