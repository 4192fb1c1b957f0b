import type { QueueOwner } from "../../base/fair-queue.ts";
import type { OneShotThenable } from "../../base/promises.ts";
import { SandgateError } from "../../base/thrown.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Capabilities, CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { Principal } from "../../policy/principal.ts";
import type { SandboxedTool, ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { Question, QuestionAnswer } from "../../tool/question.ts";
import type { Isolation, SandboxMode } from "../../tool/sandbox-mode.ts";
import type { Display, LogLevel } from "../../tool/streamed.ts";
import type { CallingAgent } from "../../tool/supervised-agent.ts";
import type { PauseWallTime } from "../../tool/wall-time.ts";
import type { GrantedTask } from "./bound-grant.ts";
import type { CallEffect, SandboxOutcome } from "./outcome.ts";
import type { StageChanges } from "./staged-changes.ts";
import type { TaskSuspension } from "./suspension.ts";

/** One granted call, as a sandbox receives it. */
export interface SandboxTask extends GrantedTask {
  readonly callId: string;
  readonly sessionId: string;
  /** The turn of the conversation; absent if it is not known. */
  readonly turnId?: string | undefined;
  /** The assistant message within its turn; absent if it is not known. */
  readonly messageId?: string | undefined;
  /** The absolute path of the session's workspace; absent if it has none. */
  readonly workspace?: string | undefined;
  /** Who calls, frozen; absent if it is not known. */
  readonly principal?: Principal | undefined;
  readonly toolName: string;
  readonly implementations: SandboxedTool;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  /** The arguments as canonical text, for threads and other processes. */
  readonly canonical: CanonicalJson;
  /** The limits to enforce: those of the grant, completed with the sandbox's defaults. */
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
  /** Cancels the task. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds for which the call has waited for its turn already, such as at an executor. Default: 0. */
  readonly waitedMs?: number | undefined;
  /** Follows whether it waits for its turn. Absent if that does not matter, as for nested calls. */
  readonly turn?: TurnObserver | undefined;
  readonly observer: TaskObserver;
  /** The embedder's own data, for functions in this process only; it never leaves the process. */
  readonly embedder: unknown;
  /** The supervised agent that calls, for functions in this process only. Absent if there is none. */
  readonly agent?: CallingAgent | undefined;
  /** Depth of nested calls: 0 for a call of the model, 1 for a call that its tool makes. Default: 0. */
  readonly nesting?: number;
  /** Calls another tool for this one. Absent if the grant gives no tools. */
  readonly callTool?: CallTool;
  /** See `HostContext.idempotencyKey`. */
  readonly idempotencyKey?: string | undefined;
  /** See `HostContext.resultChars`. */
  readonly resultChars?: number | undefined;
  /** Lets the task outlive its process. Absent if it cannot. */
  readonly suspension?: TaskSuspension | undefined;
  /** Holds what a host function changes through `context.files`. Absent if its changes reach the disk. */
  readonly stageChanges?: StageChanges | undefined;
  /** Asks a person for the tool. Absent if nobody can be asked. */
  readonly ask?: AskForTask | undefined;
  /** See `HostContext.canCall`. Absent unless the tool declares `searchesTools`. */
  readonly canCall?: ((name: string) => boolean) | undefined;
  /**
   * Returns the names of the tools that the task can call, in order of registration. Absent unless the tool declares
   * `searchesTools`, or if the grant gives no tools.
   */
  readonly toolNames?: (() => readonly string[]) | undefined;
  /** Follows the call. Absent if it is not traced. */
  readonly trace?: TaskTrace | undefined;
}

/** Follows whether a task waits for its turn. None of the methods throws. */
export interface TurnObserver {
  /** The task waits: its wall time is stopped until it begins, or continues. */
  waits(): void;
  /** It begins, or continues. Not called for every wait that ends. */
  begins(): void;
}

/** Follows a running task. */
export interface TaskTrace {
  /** Returns the headers with which a request to an executor or an MCP server continues the trace; `undefined` if there is nothing to continue. */
  headers(): TraceHeaders | undefined;
}

/**
 * Calls a tool on behalf of another tool. The call is dispatched like any other, with at most the authority of both
 * tools. Never rejects.
 *
 * @param call Untrusted: it comes from the running tool.
 */
export type CallTool = (call: NestedCall, options: NestedCallOptions) => Promise<NestedResult>;

/** Options of a {@link CallTool}. */
export interface NestedCallOptions {
  /** Cancels the nested call. */
  readonly signal: AbortSignal;
  /** The caller's remaining wall time, in milliseconds. */
  readonly wallTimeMs: number | undefined;
  /** Stops the caller's wall time. Default: it cannot be stopped, so that no person is asked about the nested call. */
  readonly pause?: PauseWallTime | undefined;
  /**
   * The number of the call among those of its caller, from 1. Default: one more than that of the call before. A caller that
   * can be suspended gives it.
   */
  readonly number?: number | undefined;
  /** Whether an earlier process made the call: it is not made twice, and its result is retained. */
  readonly isResumed?: boolean;
  /** Persists the caller, so that it outlives its process. Called before a person is asked; resolves even if that fails. */
  readonly persist?: (() => Promise<void>) | undefined;
}

/**
 * Asks a person on behalf of a tool.
 *
 * @param question Not checked: it comes from the running tool.
 * @returns as an `Ask` does.
 */
export type AskForTask = (question: Question, options: AskForTaskOptions) => Promise<QuestionAnswer>;

/** Options of an {@link AskForTask}. */
export interface AskForTaskOptions {
  /** Withdraws the question. */
  readonly signal: AbortSignal;
  /** Stops the wall time of the task. */
  readonly pause: PauseWallTime;
}

/** A call that a tool makes. */
export interface NestedCall {
  readonly name: string;
  /** The arguments as JSON text. */
  readonly input: string;
}

/** The result of a nested call, for the tool that made it. */
export type NestedResult =
  | { readonly output: JsonValue }
  | {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly effect: CallEffect;
      };
    };

/** Receives the output chunks and log lines of a running task, and what it displays. None of the methods throws. */
export interface TaskObserver {
  /** If `false`, chunks and log lines need not be transferred. Default: `true`. */
  readonly listening?: boolean;
  output(chunk: string): void;
  log(level: LogLevel, message: string): void;
  /** Default: nothing is displayed. */
  display?(display: Display): void;
}

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

/** Returns whose task it is, for turns and budgets. */
export function ownerOf({
  principal,
  sessionId,
  toolName,
}: Pick<SandboxTask, "principal" | "sessionId" | "toolName">): QueueOwner {
  return { principal: principal?.id, session: sessionId, tool: toolName };
}

/** Returns the headers that continue the trace of a task; `undefined` if it is not traced. */
export function traceHeadersOf({ trace }: SandboxTask): TraceHeaders | undefined {
  try {
    return trace?.headers();
  } catch {
    // Tracing must not affect the call.
    return undefined;
  }
}
