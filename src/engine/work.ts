import { beginning } from "../base/text.ts";
import { UNPRINTABLE } from "../base/unprintable.ts";
import type { CallEffect } from "../sandboxes/contract/outcome.ts";
import type { ErrorCode } from "./errors.ts";

/** How many calls are retained of the first ones, and of the last ones. */
export const MAX_FIRST_CALLS = 50;
export const MAX_LAST_CALLS = 50;

/** How many characters of the log are retained of its beginning, and of its end. */
export const MAX_LOG_HEAD = 2_000;
export const MAX_LOG_TAIL = 2_000;

/** What became of a call that a tool made of another one. */
export interface NestedWork {
  readonly tool: string;
  /** `"allowed"`, or who allowed it, or why it did not run. */
  readonly decision: "allowed" | "denied" | "not run" | { readonly allowedBy: string };
  /** What it left behind. A call that succeeded counts as `committed` unless its tool declares that it changes nothing. */
  readonly effect: CallEffect;
  /** Why it failed; absent if it succeeded. */
  readonly code?: ErrorCode;
}

/** What a tool did: plain JSON. */
export interface Work {
  /** The first calls, and the last ones; at most 50 of each. */
  readonly calls: readonly NestedWork[];
  /** How many calls were made between them. */
  readonly omittedCalls: number;
  /** The beginning and the end of the log, a line each. */
  readonly log: readonly string[];
  /** How many lines were logged between them. */
  readonly omittedLines: number;
}

/**
 * Returns the text that the model reads. The calls come last, and are named if there are none: whatever a tool writes into its
 * output and its log cannot be taken for them.
 */
export function workText({ calls, omittedCalls, log, omittedLines }: Work): string {
  const logged = log.length === 0 ? [] : ["Log:", ...logLines(log, omittedLines)];
  const made = calls.length === 0 ? ["Calls made: none"] : ["Calls made:", ...callLines(calls, omittedCalls)];
  return [...logged, ...made].join("\n");
}

function callLines(calls: readonly NestedWork[], omitted: number): readonly string[] {
  const lines = calls.map(({ tool, decision, effect, code }) => {
    const decided = typeof decision === "string" ? decision : `allowed by ${decision.allowedBy}`;
    const failed = code === undefined ? "" : `, failed (${code})`;
    return `- ${nameOf(tool)}: ${decided}${failed}, effect ${effect}`;
  });
  return omitted === 0 ? lines : lines.toSpliced(MAX_FIRST_CALLS, 0, `[… ${omitted} calls left out …]`);
}

function logLines(log: readonly string[], omitted: number): readonly string[] {
  if (omitted === 0) return log;
  let size = 0;
  const first = log.findIndex((line) => {
    size += line.length + 1;
    return size > MAX_LOG_HEAD;
  });
  return log.toSpliced(first, 0, `[… ${omitted} lines left out …]`);
}

/** A name can be anything that the program asked for. */
function nameOf(name: string): string {
  const clean = name.replace(UNPRINTABLE, "\ufffd");
  return clean.length <= 64 ? clean : `${beginning(clean, 63)}…`;
}
