import { formatBytes } from "../../policy/grant/limits.ts";
import { ProtocolError } from "./protocol-error.ts";

/** The most calls in one message. */
export const MAX_CALLS = 1_024;
/** The longest text of one call's arguments, in UTF-16 code units: what the engine parses at most. */
export const MAX_ARGUMENTS_LENGTH: number = 16 * 1_024 * 1_024;
/** The longest stream, in bytes. */
export const MAX_STREAM_BYTES: number = 64 * 1_024 * 1_024;

/** @throws {ProtocolError} when a message has more calls than {@link MAX_CALLS}. */
export function checkCallCount(count: number): void {
  if (count > MAX_CALLS) throw new ProtocolError("", `has more than ${MAX_CALLS} calls`);
}

/** @throws {ProtocolError} when one call's arguments are longer than {@link MAX_ARGUMENTS_LENGTH}. */
export function checkArgumentsLength(length: number): void {
  if (length <= MAX_ARGUMENTS_LENGTH) return;
  throw new ProtocolError("", `has arguments longer than ${formatBytes(MAX_ARGUMENTS_LENGTH)}`);
}
