import { performance } from "node:perf_hooks";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ResourceUse } from "../../sandboxes/contract/sandbox.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { ToolError } from "./errors.ts";

/** Everything about one call that was dispatched. Deeply frozen; survives `JSON.stringify`. */
export interface ToolExecution {
  readonly callId: string;
  readonly toolName: string;
  /** The validated arguments; as the model sent them where the call did not come so far. */
  readonly arguments: JsonValue;
  readonly success: boolean;
  /**
   * What the tool returned: any JSON value, or `{ content }` with text and image blocks. `null` on a failure,
   * unless the tool reported it with content.
   */
  readonly output: JsonValue;
  /** Milliseconds from the call's arrival to its result: hooks, policy and waiting for a worker included. */
  readonly durationMs: number;
  /** The sandbox that was granted; `null` where the call did not come so far. */
  readonly sandbox: SandboxMode | null;
  /** Why it failed; absent on success. */
  readonly error?: ToolError;
  /** What the tool said to the embedder alone. */
  readonly metadata?: JsonObject;
  readonly receipt: ExecutionReceipt;
}

/** What was enforced on a call, and what it used. */
export interface ExecutionReceipt {
  /** The limits that held. Empty where nothing ran. */
  readonly enforced: ResourceLimits;
  readonly used: ResourceUse;
}

/** The receipt of a call that never ran. */
export const NOTHING_RAN: ExecutionReceipt = Object.freeze({
  enforced: Object.freeze({}),
  used: Object.freeze({ wallTimeMs: 0 }),
});

/**
 * Seals a call's result: measures its duration, keeps of a failure only what the model may see.
 *
 * @param endedAt As `performance.now` tells it. Default: now.
 */
export function sealExecution(
  result: Omit<ToolExecution, "success" | "durationMs" | "error" | "metadata">,
  startedAt: number,
  error: ToolError | undefined,
  metadata: JsonObject | undefined,
  endedAt: number = performance.now(),
): ToolExecution {
  const { callId, toolName, arguments: args, output, sandbox, receipt } = result;
  const success = error === undefined;
  const durationMs = Math.round((endedAt - startedAt) * 1_000) / 1_000;
  const execution = { callId, toolName, arguments: args, success, output, durationMs, sandbox, receipt };
  if (success && metadata === undefined) return Object.freeze(execution);
  return Object.freeze({
    ...execution,
    ...(error !== undefined && {
      error: Object.freeze({
        code: error.code,
        message: error.message,
        effect: error.effect,
        ...(error.limit !== undefined && { limit: error.limit }),
      }),
    }),
    ...(metadata !== undefined && { metadata }),
  });
}
