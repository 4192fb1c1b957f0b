import { copied } from "../../base/text.ts";
import { describeThrown, systemErrorCode, type ThrownText } from "../../base/thrown.ts";
import { copyJson } from "../../json/copy.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { ToolFailure, type ToolFailureCode, toolFailureCode } from "../../tool/tool-failure.ts";
import type { CallEffect } from "./outcome.ts";

/** Maximum number of bytes that the texts of a guest's failure can have, whatever its output limit is. */
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

/** What a host tool threw: a failure that it meant, or anything else. Can be sent between threads. */
export type ThrownFailure = ThrownText &
  (
    | {
        readonly unhandled: true;
        /** The operating system's code, such as `ENOENT`, if the error or one of its causes has one. */
        readonly systemCode?: string;
      }
    | {
        readonly unhandled?: never;
        readonly code: ToolFailureCode;
        readonly userVisible: boolean;
        readonly effect: CallEffect;
        readonly metadata?: JsonObject;
      }
  );

/** Reads any value that a host tool threw. Never throws. */
export function readThrown(thrown: unknown): ThrownFailure {
  const text = describeThrown(thrown);
  try {
    if (ToolFailure.is(thrown)) return { ...text, ...readFailure(thrown) };
    const systemCode = systemErrorCode(thrown);
    return { ...text, unhandled: true, ...(systemCode !== undefined && { systemCode }) };
  } catch {
    return { ...text, unhandled: true };
  }
}

/** Reads each member once, since any error can claim to be a failure. May throw. */
function readFailure({ code, userVisible, effect, metadata }: ToolFailure) {
  return {
    code: toolFailureCode(code),
    userVisible: userVisible === true,
    effect: effect === "none" || effect === "committed" ? effect : "unknown",
    ...(isJsonObject(metadata) && { metadata: copyJson(metadata) as JsonObject }),
  } as const;
}
