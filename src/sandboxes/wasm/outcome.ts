import type { ResourceLimits } from "../../policy/limits.ts";
import { checkOutput } from "../output.ts";
import type { PoolOutcome } from "../pool-task.ts";
import type { ResourceUse, SandboxOutcome } from "../sandbox.ts";
import type { WasmAnswer } from "./worker-entry.ts";

/** A component can reach nothing outside: whatever became of it, nothing changed. */
const effect = "none";

/** What became of a call, as a thread or the pool tells it. */
export function readOutcome(outcome: PoolOutcome<WasmAnswer>, limits: ResourceLimits): SandboxOutcome {
  const used = { wallTimeMs: outcome.wallTimeMs };
  switch (outcome.status) {
    case "returned":
      return readAnswer(outcome.result, used, limits);
    case "unavailable":
      return unavailable(outcome.reason);
    case "crashed":
      return readCrash(outcome.error, used);
    default:
      return { status: outcome.status, effect, used };
  }
}

/** A call that did not start. `detail` is for the operator. */
export function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect, used: { wallTimeMs: 0 }, detail };
}

/** A call that was not started because it could not stay within a limit. */
export function memoryExceeded(used: ResourceUse = { wallTimeMs: 0 }): SandboxOutcome {
  return { status: "limit_exceeded", limit: "memoryBytes", effect, used };
}

function readAnswer(
  answer: WasmAnswer,
  { wallTimeMs }: ResourceUse,
  { outputBytes: maxOutputBytes }: ResourceLimits,
): SandboxOutcome {
  if (answer.status === "needs-artifact") return unavailable("the thread did not take the component");
  const { memoryBytes, logLines } = answer;
  const used = { wallTimeMs, memoryBytes, ...(logLines > 0 && { logLines }) };
  switch (answer.status) {
    case "returned": {
      const { outputBytes, ...checked } = checkOutput(answer.text, maxOutputBytes);
      return { effect, ...checked, used: { ...used, outputBytes } };
    }
    case "tool-error":
      return {
        ...{ status: "failed", effect, used, message: answer.message },
        ...(answer.code !== undefined && { detail: `error code ${answer.code}` }),
      };
    case "output-exceeded": {
      const { outputBytes } = answer;
      return { status: "limit_exceeded", limit: "outputBytes", effect, used: { ...used, outputBytes } };
    }
    case "lifted-too-much":
      return { status: "limit_exceeded", limit: "outputBytes", effect, used };
    case "refused":
      return { status: "failed", effect, used, message: answer.message };
    case "trapped": {
      // Nobody sees a refused growth from outside; a component that traps with its memory full asked for more.
      if (answer.atMemoryCap) return { ...memoryExceeded(used), detail: answer.detail };
      return { status: "failed", effect, used, message: answer.message, detail: answer.detail };
    }
  }
}

/** V8 ends a thread whose heap is full: what fills it is what the component made the border hold. */
function readCrash(error: Error, used: ResourceUse): SandboxOutcome {
  const detail = String(error.stack);
  if ("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY")
    return { ...memoryExceeded(used), detail };
  return { status: "failed", effect, used, message: "Tool broke the thread that it ran in", detail };
}
