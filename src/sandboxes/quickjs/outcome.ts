import { describeThrown } from "../../base/thrown.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkOutput, outcomeOf } from "../contract/output.ts";
import { suspensionProblem } from "../contract/suspension.ts";
import { notEnded, notRun, type PoolOutcome } from "../threads/pool-task.ts";
import type { QuickJsAnswer } from "./thread/thread-task.ts";

const ENGINE_BROKE = "Tool crashed the JavaScript engine";
const STALLED = "Tool awaits a promise that can never settle";

/** Returns the outcome of a call that could not start. */
export function notStarted(error: unknown): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail: String(error) };
}

/** Returns the outcome of a suspended call that must not continue. What it did before is not known here. */
export function notResumed(error: unknown): SandboxOutcome {
  const message = `The suspended call cannot continue: ${suspensionProblem(error)}`;
  return {
    status: "failed",
    effect: "unknown",
    used: { wallTimeMs: 0 },
    message,
    userVisible: true,
    detail: describeThrown(error).detail,
  };
}

/** Converts the outcome of a call's last step to the outcome of the call. */
export function readQuickJsOutcome(
  outcome: PoolOutcome<QuickJsAnswer>,
  used: ResourceUse,
  effect: CallEffect,
  maxOutputBytes: number,
): SandboxOutcome {
  switch (outcome.status) {
    case "returned": {
      const { memoryBytes } = outcome.result;
      return readAnswer(outcome.result, { ...used, memoryBytes }, effect, maxOutputBytes);
    }
    case "unavailable":
      return { ...notRun(outcome), used };
    case "crashed":
      return {
        status: "failed",
        effect,
        used,
        message: ENGINE_BROKE,
        userVisible: true,
        detail: String(outcome.error.stack),
      };
    default:
      return { status: outcome.status, effect, used, ...notEnded(outcome) };
  }
}

function readAnswer(
  answer: QuickJsAnswer,
  used: ResourceUse,
  effect: CallEffect,
  maxOutputBytes: number,
): SandboxOutcome {
  if (answer.status === "timeout") {
    const { detail } = answer;
    return { status: "timeout", effect, used, ...(detail !== undefined && { detail }) };
  }
  if (answer.status === "output_exceeded") {
    const { outputBytes } = answer;
    return { status: "limit_exceeded", limit: "outputBytes", effect, used: { ...used, outputBytes } };
  }
  if (answer.status === "returned") {
    return outcomeOf(checkOutput(answer.text, maxOutputBytes), effect, used);
  }
  // A guest that runs out of memory can fail in many ways, so the cap decides.
  if (answer.hitMemoryCap) return { status: "limit_exceeded", limit: "memoryBytes", effect, used };
  switch (answer.status) {
    case "stalled":
      return { status: "failed", effect, used, message: STALLED, userVisible: true };
    case "broken":
      // Where the engine does not check its own stack, V8's overflows.
      if (STACK_OVERFLOW.test(answer.detail)) {
        return { status: "limit_exceeded", limit: "stackBytes", effect, used, detail: answer.detail };
      }
      return {
        status: "failed",
        effect,
        used,
        message: ENGINE_BROKE,
        userVisible: true,
        detail: answer.detail,
      };
    case "failed": {
      const { status, message, detail, code, userVisible } = answer;
      return { status, effect, used, message, detail, userVisible, ...(code !== undefined && { code }) };
    }
    default:
      return {
        status: "failed",
        effect,
        used,
        message: ENGINE_BROKE,
        userVisible: true,
        detail: `unexpected status: ${answer.status}`,
      };
  }
}

const STACK_OVERFLOW = /^RangeError: Maximum call stack size exceeded/;
