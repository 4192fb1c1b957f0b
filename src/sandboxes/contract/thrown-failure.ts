import { systemErrorCode } from "../../base/system-error.ts";
import { describeThrown, type ThrownText } from "../../base/thrown.ts";
import { copyJson } from "../../json/copy.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { ToolFailure, type ToolFailureCode, toolFailureCode } from "../../tool/tool-failure.ts";
import type { CallEffect } from "./outcome.ts";

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
