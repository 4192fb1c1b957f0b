import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkOutput, outcomeOf } from "../contract/output.ts";
import type { ServiceUse } from "../guest-services/call-services.ts";
import { notEnded, notRun, type PoolOutcome, timesOf } from "../threads/pool-task.ts";
import type { WasmAnswer } from "./thread/thread-task.ts";

/**
 * Converts what the thread or the pool reports to the outcome of a call.
 *
 * @param services The call's use of services. Its `effect` includes the effect on files.
 * @param options Whether the grant allows the call to share its instance with other calls, and the engine if it is not
 *   Sandgate's own.
 */
export function readWasmOutcome(
  outcome: PoolOutcome<WasmAnswer>,
  services: ServiceUse,
  limits: ResourceLimits,
  { mayReuse, engine }: { readonly mayReuse: boolean; readonly engine: ResourceUse["engine"] },
): SandboxOutcome {
  const used = { ...timesOf(outcome), ...services.used, ...(engine && { engine }) };
  const { effect } = services;
  switch (outcome.status) {
    case "returned": {
      // The deadline may take effect while the result is on its way. A component must not hide it, as it could when
      // the same deadline ends the nested call for which it waits.
      if (limits.wallTimeMs !== undefined && outcome.wallTimeMs > limits.wallTimeMs) {
        return { status: "timeout", effect, used };
      }
      const { memoryBytes, logLines, writtenBytes, isReused, changes } = outcome.result;
      const use: ResourceUse = {
        ...used,
        memoryBytes,
        ...(logLines > 0 && { logLines }),
        ...(writtenBytes > 0 && { fileBytes: writtenBytes }),
        ...(mayReuse && { instance: isReused ? "reused" : "fresh" }),
      };
      const read = readAnswer(outcome.result, use, effect, limits);
      return changes === undefined ? read : { ...read, changes };
    }
    case "unavailable":
      return notRun(outcome);
    case "crashed":
      return readCrash(outcome.error, used, effect);
    default:
      return { status: outcome.status, effect, used, ...notEnded(outcome) };
  }
}

/** Returns the outcome of a call that did not start. `detail` is for the operator. */
export function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** Returns the outcome of a call that exceeded its memory limit. By default, the call did not start. */
export function memoryExceeded(
  used: ResourceUse = { wallTimeMs: 0 },
  effect: CallEffect = "none",
): SandboxOutcome {
  return { status: "limit_exceeded", limit: "memoryBytes", effect, used };
}

function readAnswer(
  answer: WasmAnswer,
  used: ResourceUse,
  effect: CallEffect,
  { outputBytes: maxOutputBytes }: ResourceLimits,
): SandboxOutcome {
  switch (answer.status) {
    case "returned":
      return outcomeOf(checkOutput(answer.text, maxOutputBytes), effect, used);
    case "tool-error":
      return {
        status: "failed",
        effect,
        used,
        message: answer.message,
        ...(answer.code !== undefined && { detail: `error code ${answer.code}` }),
      };
    case "output-exceeded": {
      const { outputBytes } = answer;
      return { status: "limit_exceeded", limit: "outputBytes", effect, used: { ...used, outputBytes } };
    }
    case "lifted-too-much":
      return { status: "limit_exceeded", limit: answer.limit, effect, used };
    case "refused":
      return { status: "failed", effect, used, message: answer.message };
    case "trapped": {
      // The host does not see a failed memory.grow, so a component that traps with its memory full counts as out of
      // memory.
      if (answer.atMemoryCap) return { ...memoryExceeded(used, effect), detail: answer.detail };
      return { status: "failed", effect, used, message: answer.message, detail: answer.detail };
    }
  }
}

/** V8 terminates a thread whose heap is full, which the component can only fill with the values that it passes. */
function readCrash(error: Error, used: ResourceUse, effect: CallEffect): SandboxOutcome {
  const detail = String(error.stack);
  if ("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
    return { ...memoryExceeded(used, effect), detail };
  }
  return { status: "failed", effect, used, message: "Tool crashed its thread", userVisible: true, detail };
}
