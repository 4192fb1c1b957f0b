import { checkOutput } from "../contract/output.ts";
import { outcomeOf } from "../contract/output-outcome.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../contract/sandbox.ts";
import type { PoolOutcome } from "../threads/pool-task.ts";
import { readFailure } from "./failure.ts";
import type { QuickJsAnswer } from "./thread/thread-task.ts";

const ENGINE_BROKE = "Tool broke the JavaScript engine that it ran in";

/** A call that could not begin. */
export function notStarted(error: unknown): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail: String(error) };
}

/** Reads how a step ended that is the call's last. */
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
      return { status: "unavailable", effect, used, detail: outcome.reason };
    case "crashed":
      return { status: "failed", effect, used, message: ENGINE_BROKE, detail: String(outcome.error.stack) };
    default:
      return { status: outcome.status, effect, used };
  }
}

function readAnswer(
  answer: QuickJsAnswer,
  used: ResourceUse,
  effect: CallEffect,
  maxOutputBytes: number,
): SandboxOutcome {
  if (answer.status === "timeout") return { status: "timeout", effect, used };
  if (answer.status === "output_exceeded") {
    const { outputBytes } = answer;
    return { status: "limit_exceeded", limit: "outputBytes", effect, used: { ...used, outputBytes } };
  }
  if (answer.status === "text" && answer.text.startsWith("+")) {
    return outcomeOf(checkOutput(answer.text.slice(1), maxOutputBytes), effect, used);
  }
  // A guest out of memory fails in any way, its own or the engine's; that it asked for more is what counts.
  if (answer.hitMemoryCap) return { status: "limit_exceeded", limit: "memoryBytes", effect, used };
  switch (answer.status) {
    case "stalled":
      return { status: "failed", effect, used, message: "Tool awaits a promise that can never settle" };
    case "broken":
      // The engine checks its own stack; where it does not, V8's ends the guest.
      if (STACK_OVERFLOW.test(answer.detail)) {
        return { status: "limit_exceeded", limit: "stackBytes", effect, used, detail: answer.detail };
      }
      return { status: "failed", effect, used, message: ENGINE_BROKE, detail: answer.detail };
    case "text":
      return { status: "failed", effect, used, ...readFailure(answer.text.slice(1)) };
    default:
      return {
        status: "failed",
        effect,
        used,
        message: ENGINE_BROKE,
        detail: `it ended with ${answer.status}`,
      };
  }
}

const STACK_OVERFLOW = /^RangeError: Maximum call stack size exceeded/;
