import { copied } from "../../base/text.ts";

/** The most bytes that the texts of a guest's failure can have, whatever its output limit is. */
const MAX_BYTES = 64 * 1_024;

/** The bytes that they can have even if the output limit is lower: an error must remain readable. */
const MIN_BYTES = 1_024;

const ELLIPSIS = "…";
const encoder = new TextEncoder();

/** The texts of a failure, which a guest controls. */
export interface FailureTexts {
  readonly message: string;
  readonly detail?: string;
}

/**
 * Shortens the texts of a guest's failure to its output limit: both leave the sandbox, in the result and in events.
 * Called in the guest's thread, so that a long text never reaches the process.
 *
 * @param outputBytes The call's output limit; `undefined` if it has none.
 */
export function boundFailure<Failure extends FailureTexts>(
  failure: Failure,
  outputBytes: number | undefined,
): Failure {
  const bytes = Math.min(Math.max(outputBytes ?? MAX_BYTES, MIN_BYTES), MAX_BYTES);
  const message = shorten(failure.message, bytes / 2);
  const { detail } = failure;
  return { ...failure, message, ...(detail !== undefined && { detail: shorten(detail, bytes / 2) }) };
}

/** Shortens a text to a number of bytes in UTF-8, without splitting a character. */
export function shorten(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(maxBytes - ELLIPSIS_BYTES, 0)));
  return copied(text.slice(0, read)) + ELLIPSIS;
}

const ELLIPSIS_BYTES = Buffer.byteLength(ELLIPSIS);
