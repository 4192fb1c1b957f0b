import type { NestedResult } from "../../sandboxes/contract/task.ts";
import { changesNothing, type SideEffects } from "../../tool/side-effects.ts";
import type { ToolExecution } from "../call/execution.ts";
import type { ErrorCode } from "../failure/errors.ts";
import type { NestedWork } from "../work/work.ts";

/**
 * Returns what became of a call.
 *
 * @param execution `null` if a hook aborted the call.
 * @param sideEffects The class of the tool; `undefined` if there is no such tool.
 */
export function nestedWork(
  tool: string,
  execution: ToolExecution | null,
  sideEffects: SideEffects | undefined,
): NestedWork {
  if (execution === null) return { tool, decision: "denied", effect: "none", code: "permission_denied" };
  const { error, confirmation } = execution;
  const allowed = confirmation === undefined ? "allowed" : { allowedBy: confirmation.by };
  if (error === undefined) {
    const isHarmless = sideEffects !== undefined && changesNothing(sideEffects);
    return { tool, decision: allowed, effect: isHarmless ? "none" : "committed" };
  }
  const { code, effect } = error;
  return {
    tool,
    decision: DENIALS.has(code) ? "denied" : NOT_RUN.has(code) ? "not run" : allowed,
    effect,
    code,
  };
}

/** Returns what became of a call that an earlier process made. */
export function earlierWork(
  tool: string,
  result: NestedResult,
  sideEffects: SideEffects | undefined,
): NestedWork {
  if (!("error" in result)) {
    const isHarmless = sideEffects !== undefined && changesNothing(sideEffects);
    return { tool, decision: "allowed", effect: isHarmless ? "none" : "committed" };
  }
  const { code, effect } = result.error;
  const isDenied = (DENIALS as ReadonlySet<string>).has(code);
  return { tool, decision: isDenied ? "denied" : "allowed", effect, code: code as ErrorCode };
}

const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "permission_denied",
  "user_denied",
  "confirmation_timeout",
]);

const NOT_RUN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "not_found",
  "validation_error",
  "sandbox_unavailable",
  "limit_unenforceable",
]);
