import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ResourceUse, TaskEnd } from "../../sandboxes/contract/outcome.ts";
import type { Changes } from "../../tool/changes.ts";
import type { Isolation, SandboxMode } from "../../tool/sandbox-mode.ts";
import type { ToolError } from "../errors.ts";
import type { ResultBudget } from "../result-budget.ts";
import type { Work } from "../work-report.ts";
import type { AnsweredQuestion, GivenConfirmation } from "./confirmation.ts";

/** The result of one dispatched call. Deeply frozen and JSON-serialisable. */
export interface ToolExecution {
  readonly callId: string;
  readonly toolName: string;
  /** The validated arguments; as the model sent them if the call failed before. */
  readonly arguments: JsonValue;
  readonly success: boolean;
  /**
   * What the tool returned: any JSON value, or `{ content }` with text and image blocks. `null` on failure, unless
   * the tool reported the failure with content.
   */
  readonly output: JsonValue;
  /** Milliseconds from the call's arrival to its result, including hooks, policy and waiting for a worker. */
  readonly durationMs: number;
  /** The granted sandbox; `null` if the call failed before. */
  readonly sandbox: SandboxMode | null;
  /** Why the call failed; absent on success. */
  readonly error?: ToolError;
  /** What the tool of a call that was cancelled or timed out had streamed; absent if there was nothing, or the context does not ask for it. */
  readonly partialOutput?: string;
  /** What the tool returned for the embedder only; the model never sees it. */
  readonly metadata?: JsonObject;
  /**
   * What the call changed in the files that it was granted, as Sandgate saw it. Absent if it could change none, and if what it
   * changed is not known.
   */
  readonly changes?: Changes;
  readonly receipt: ExecutionReceipt;
  /** Who confirmed the call, and what they saw; absent if no person allowed the call. */
  readonly confirmation?: GivenConfirmation;
  /**
   * Who answered the questions that the tool asked with `context.ask`, or declined to, in order: at most 100. Absent if
   * there was no answer.
   */
  readonly questions?: readonly AnsweredQuestion[];
  /** What the tool did, for the model. Absent unless the tool declares `reportsWork`, and if it did nothing. */
  readonly work?: Work;
  /** How the model reads the output, if the tool says so: see `ToolTraits.modelText`. Absent for a nested call. */
  readonly modelText?: string;
  /** How much of the result the model reads, if the context says so; `output` itself is whole. */
  readonly resultBudget?: ResultBudget;
}

/** What was enforced on a call, what it used, and whether it has certainly ended. */
export interface ExecutionReceipt {
  /** The limits that were enforced. Empty if nothing ran. */
  readonly enforced: ResourceLimits;
  readonly used: ResourceUse;
  /**
   * Set if the call was stopped, but may still be running: a thread that could not be terminated, a host function that
   * ignores its signal, or a request that was sent and not answered. Absent if the call has certainly ended.
   */
  readonly mayStillRun?: true;
  /**
   * What is known about the end of a call that was stopped: `confirmed`, it is gone; `requested`, it was asked to stop, and no
   * more is known; `unknown`. Absent if the call was not stopped.
   */
  readonly ended?: TaskEnd;
  /**
   * What the call was granted: the digest of its id, arguments, sandbox, limits and capabilities, of the tool's definition
   * and of an expiry. It is computed when it is first read. Absent if the call was not given to a sandbox.
   */
  readonly grant?: { readonly digest: string };
  /** What confined the program of a call in the sandbox `process`. Absent in other sandboxes, and if nothing ran. */
  readonly isolation?: Isolation;
  /** Set if the call ran, but its end could not be recorded. */
  readonly recorded?: false;
}

/** The receipt of a call that never ran. */
export const NOTHING_RAN: ExecutionReceipt = Object.freeze({
  enforced: Object.freeze({}),
  used: Object.freeze({ wallTimeMs: 0 }),
});
