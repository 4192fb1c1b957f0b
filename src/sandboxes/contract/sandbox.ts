import type { OneShotThenable } from "../../base/promises.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Capabilities, CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations.ts";
import type { LogLevel } from "../../tool/log-level.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";

/**
 * The contract of every sandbox: a task in, an outcome out. A sandbox does not depend on models or messages. Each one
 * passes the suite in `test/contract`.
 */
export interface Sandbox {
  readonly mode: SandboxMode;
  /** The capabilities that it can give a task. */
  readonly capabilities: ReadonlySet<CapabilityName>;

  /** The same for tools with these implementations, where it depends on them. Pure: the answer is kept. */
  capabilitiesFor?(implementations: ToolImplementations): ReadonlySet<CapabilityName>;

  /** The limits that it enforces if a grant does not set them. Limits of the grant override them. */
  readonly defaults: ResourceLimits;

  /**
   * Returns the first of the limits that it cannot enforce on these implementations, or `undefined` if it can enforce
   * all of them. The engine calls this before {@link run}. Pure; callers cache the result.
   */
  unenforceable(limits: ResourceLimits, implementations: ToolImplementations): LimitName | undefined;

  /**
   * The limits that a nested call inherits from its caller, if {@link unenforceable} cannot decide it because another
   * process enforces the limits or refuses the call. Default: all limits that it can enforce.
   */
  inheritedLimits?(implementations: ToolImplementations): readonly LimitName[] | undefined;

  /**
   * Reads, checks and compiles a tool, so that its first call does not wait for it.
   *
   * @throws {ToolPreparationError} if the tool cannot run in this sandbox.
   */
  prepare(implementations: ToolImplementations): Promise<void>;

  /**
   * Runs one task. Never rejects, and settles when the work has ended, or could not be ended in time: see
   * `SandboxOutcome.mayStillRun`. May return an outcome synchronously.
   */
  run(task: SandboxTask): SandboxOutcome | OneShotThenable<SandboxOutcome>;

  /**
   * Ends the running tasks (`cancelled`), frees what the sandbox opened, and refuses later tasks (`unavailable`).
   * Idempotent.
   */
  close(): Promise<void>;
}

/** One granted call, as a sandbox sees it. */
export interface SandboxTask {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly implementations: ToolImplementations;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  /** The same as canonical text: what crosses a border. */
  readonly canonical: CanonicalJson;
  /** The limits to enforce: the sandbox's defaults with the grant's laid over them. */
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
  /** Cancels the task. */
  readonly signal: AbortSignal | undefined;
  readonly observer: TaskObserver;
  /** For functions in this process only; never crosses a border. */
  readonly embedder: unknown;
  /** How many calls are above this one: 0 for the model's, 1 for a call that its tool makes. Default: 0. */
  readonly nesting?: number;
  /** Calls another tool for this one. Absent where the grant gives no tools. */
  readonly callTool?: CallTool;
}

/**
 * Calls a tool for another one: a dispatch like any other, with at most the authority of both. Never rejects.
 *
 * @param call Hostile: the tool that runs made it.
 * @param options.signal Cancels the nested call.
 * @param options.wallTimeMs What is left of the caller's wall time.
 */
export type CallTool = (
  call: NestedCall,
  options: { readonly signal: AbortSignal; readonly wallTimeMs: number | undefined },
) => Promise<NestedResult>;

/** A call that a tool makes. */
export interface NestedCall {
  readonly name: string;
  /** The arguments as JSON text. */
  readonly input: string;
}

/** What became of a nested call, for the tool that made it. */
export type NestedResult =
  | { readonly output: JsonValue }
  | {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly effect: CallEffect;
      };
    };

/** Where a running task's chunks and log lines go. Neither method throws. */
export interface TaskObserver {
  /** Whether anybody listens: what nobody hears need not be brought from far away. Default: `true`. */
  readonly listening?: boolean;
  output(chunk: string): void;
  log(level: LogLevel, message: string): void;
}

/** What a task used. A figure that the sandbox cannot measure is absent. */
export interface ResourceUse {
  /** Milliseconds that the work took. */
  readonly wallTimeMs: number;
  /** Bytes of the output as UTF-8 JSON text. */
  readonly outputBytes?: number;
  /** Bytes of memory at the end: for QuickJS and Wasm, of the linear memories. */
  readonly memoryBytes?: number;
  /** Lines that it logged. */
  readonly logLines?: number;
  /** Calls that it made to other tools. */
  readonly nestedCalls?: number;
  /** Bytes that it wrote to files. */
  readonly fileBytes?: number;
  /** Whether an earlier call of the session ran in its instance; only where the grant lets calls share one. */
  readonly instance?: "fresh" | "reused";
  /** Every connection over which it was asked for elsewhere, in order: the origin, and the address behind it. */
  readonly contacted?: readonly { readonly origin: string; readonly address: string }[];
  /** Bytes that were sent over the network, heads included. */
  readonly bytesUp?: number;
  /** Bytes that were received over the network, heads included. */
  readonly bytesDown?: number;
  /** How often somebody elsewhere was asked to run it. */
  readonly attempts?: number;
}

/**
 * What a failure left behind: `none`, nothing can have changed (the tool did not start, or could reach
 * nothing outside its sandbox); `committed`, the effect took place all the same; `unknown`.
 */
export type CallEffect = "none" | "committed" | "unknown";

/**
 * What became of a task. `effect` is what it left behind, should it count as a failure. `detail` is for the
 * operator (stacks, paths); it never reaches the model.
 */
export type SandboxOutcome = {
  readonly effect: CallEffect;
  readonly used: ResourceUse;
  readonly detail?: string;
  /** The limits that held, where they are not those of the task. Frozen. */
  readonly enforced?: ResourceLimits;
  /** When it was known, as `performance.now` tells it: saves another look at the clock. Default: now. */
  readonly endedAt?: number | undefined;
} & (
  | { /** Deeply frozen, and nobody else's. */ readonly status: "completed"; readonly output: JsonValue }
  | { readonly status: "failed" /** The tool's own words. */; readonly message: string }
  | { readonly status: "limit_exceeded"; readonly limit: LimitName }
  | { readonly status: "timeout" }
  | { readonly status: "cancelled" }
  | { /** It did not start. */ readonly status: "unavailable" }
  | {
      /** It did not start: whoever was to run it elsewhere refused it, in these words. */
      readonly status: "refused";
      readonly reason: RefusalReason;
      readonly message: string;
    }
);

/** Why somebody elsewhere did not let a task start. */
export type RefusalReason =
  | "validation_error"
  | "permission_denied"
  | "user_denied"
  | "confirmation_timeout"
  | "limit_unenforceable"
  | "sandbox_unavailable";

/** A tool cannot be made ready to run. `message` says why, for whoever registers it. */
export class ToolPreparationError extends Error {
  override readonly name = "ToolPreparationError";
}

/** Where a granted call finds its sandbox. */
export interface SandboxRouter {
  /** Returns the sandbox of a mode, as a promise while it is loading, or `undefined` if it is not open. */
  route(mode: SandboxMode): Sandbox | undefined | Promise<Sandbox | undefined>;
}
