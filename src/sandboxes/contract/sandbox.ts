import type { OneShotThenable } from "../../base/promises.ts";
import { SandgateError } from "../../base/thrown.ts";
import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { SandboxedTool, ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { Isolation, SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SandboxOutcome } from "./outcome.ts";
import type { SandboxTask } from "./task.ts";

/** Milliseconds that a call may wait in all until it begins, unless the embedder says otherwise (`workers.maxWaitMs`). */
export const DEFAULT_MAX_WAIT_MS = 30_000;

/**
 * The contract of every sandbox: a task in, an outcome out. A sandbox does not depend on models or messages. Each one
 * passes the suite in `test/contract`.
 */
export interface Sandbox {
  readonly mode: SandboxMode;
  /** The capabilities that it can give a task. */
  readonly capabilities: ReadonlySet<CapabilityName>;

  /** What confines programs, in the sandbox for them. */
  readonly isolation?: Isolation;

  /**
   * The capabilities for a tool, if they depend on it. Pure; callers cache the result. Default: {@link capabilities}.
   */
  capabilitiesFor?(tool: SandboxedTool): ReadonlySet<CapabilityName>;

  /** The capability that the tool needs to run at all. Pure; callers cache the result. Default: none. */
  requiredCapability?(tool: SandboxedTool): CapabilityName | undefined;

  /** The limits that it enforces if a grant does not set them. Limits of the grant override them. */
  readonly defaults: ResourceLimits;

  /**
   * Returns the first of the limits that it cannot enforce on the tool, or `undefined` if it can enforce all of them.
   * The engine calls this before {@link run}. Pure; callers cache the result.
   */
  unenforceable(limits: ResourceLimits, tool: SandboxedTool): LimitName | undefined;

  /**
   * The limits that a nested call inherits from its caller, if {@link unenforceable} cannot decide it because another
   * process enforces the limits or refuses the call. Default: all limits that it can enforce.
   */
  inheritedLimits?(implementations: ToolImplementations<never, never>): readonly LimitName[] | undefined;

  /** Whether it can suspend tasks that call tools: see `SandboxTask.suspension`. Default: `false`. */
  readonly suspends?: boolean;

  /**
   * Reads, checks and compiles a tool, so that its first call does not wait for it.
   *
   * @throws {ToolPreparationError} if the tool cannot run in this sandbox.
   */
  prepare(implementations: ToolImplementations<never, never>): Promise<void>;

  /**
   * Runs one task, which it accepts first (`BoundGrant.accept`): a task that its grant is not for, and one that comes
   * twice, is `unavailable`, and nothing runs. Never rejects, and settles when the work has ended, or could not be ended in time: see
   * `SandboxOutcome.mayStillRun`. May return an outcome synchronously.
   */
  run(task: SandboxTask): SandboxOutcome | OneShotThenable<SandboxOutcome>;

  /** Frees what is retained for later tasks of a session. Default: nothing is retained. */
  endSession?(sessionId: string): void;

  /**
   * Ends the running tasks (`cancelled`), frees what the sandbox opened, and refuses later tasks (`unavailable`).
   * Idempotent.
   */
  close(): Promise<void>;
}

/** Thrown if a tool cannot be prepared. The message explains why to the developer who registers it. */
export class ToolPreparationError extends SandgateError {
  override readonly name = "ToolPreparationError";
  override readonly code = "tool_not_prepared";
}

/** Resource counts of open sandboxes. */
export interface SandboxStats {
  /**
   * Threads that could not be terminated, and host functions that still run 30 s after they were asked to stop. Node.js
   * emits a warning for each: `SANDGATE_THREAD_ABANDONED` or `SANDGATE_FUNCTION_ABANDONED`.
   */
  readonly abandoned: number;
  /** Calls that wait for a thread of Sandgate's pools. */
  readonly waiting: number;
}

/** Finds the sandbox of a granted call. */
export interface SandboxRouter {
  /** Returns the sandbox of a mode, as a promise while it is loading, or `undefined` if it is not open. */
  route(mode: SandboxMode): Sandbox | undefined | Promise<Sandbox | undefined>;
  /**
   * Frees resources that are reused by later calls of a session, such as its shell. `Sessions` call it when a
   * session is closed. Default: there are none.
   */
  endSession?(sessionId: string): void;
  /** Counts the current resources of the sandboxes. Default: unknown. */
  stats?(): SandboxStats;
}
