import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { Changes } from "../../tool/changes.ts";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import type { ToolFailureCode } from "../../tool/tool-failure.ts";

/** The resources that a task used. A figure that the sandbox cannot measure is absent. */
export interface ResourceUse {
  /** Milliseconds that the work took. */
  readonly wallTimeMs: number;
  /** Milliseconds for which the call waited for its turn, which do not count as wall time. Absent if it did not wait. */
  readonly waitedMs?: number;
  /** Bytes of the output as UTF-8 JSON text. */
  readonly outputBytes?: number;
  /**
   * Bytes of memory at the end: for QuickJS and Wasm, of the linear memories. For programs with a limit, the most that all
   * their processes had together.
   */
  readonly memoryBytes?: number;
  /** Lines that it logged. */
  readonly logLines?: number;
  /** Calls that it made to other tools. */
  readonly nestedCalls?: number;
  /** Bytes that it wrote to files. */
  readonly fileBytes?: number;
  /** Whether an earlier call of the session ran in its instance; only if the grant lets calls share one. */
  readonly instance?: "fresh" | "reused";
  /** The engine that ran it, if it is not Sandgate's own. */
  readonly engine?: "jco";
  /** Every connection that a request was written to, in order: the origin, and the address of the connection. */
  readonly contacted?: readonly { readonly origin: string; readonly address: string }[];
  /** Bytes that were sent over the network, heads included. */
  readonly bytesUp?: number;
  /** Bytes that were received from the network, with everything that HTTP and TLS add. */
  readonly bytesDown?: number;
  /** How many requests an HTTP tool sent, redirects included, or how many times an executor was asked to run it. */
  readonly attempts?: number;
}

/**
 * What a failed call may have changed:
 *
 * - `none`: nothing; the tool did not start, or could not reach anything outside its sandbox
 * - `committed`: the tool took effect although the call failed
 * - `unknown`: the tool may have taken effect
 */
export type CallEffect = "none" | "committed" | "unknown";

/**
 * What is known about the end of a task that was stopped:
 *
 * - `confirmed`: it is gone
 * - `requested`: it was asked to stop, and no more is known
 * - `unknown`: it could not be asked, or may not have received the request
 */
export type TaskEnd = "confirmed" | "requested" | "unknown";

/**
 * The outcome of a task. `effect` applies if the outcome counts as a failure. `detail` is for the operator (stacks,
 * paths); it never reaches the model.
 */
export type SandboxOutcome = {
  readonly effect: CallEffect;
  readonly used: ResourceUse;
  readonly detail?: string;
  /** The limits that were enforced, if they differ from those of the task. Frozen. */
  readonly enforced?: ResourceLimits;
  /** Set if the work was stopped, but may still be running. */
  readonly mayStillRun?: true;
  /** What is known about its end, if the work was stopped. Default: `unknown` if it may still run, else `confirmed`. */
  readonly ended?: TaskEnd;
  /** Its changes of granted files. Absent if they are unknown, or it could not change files. */
  readonly changes?: Changes | undefined;
  /** What confined the work, if the sandbox has more than one way. */
  readonly isolation?: Isolation;
  /** When the outcome was known, in ms of `performance.now`; saves another read of the clock. Default: now. */
  readonly endedAt?: number | undefined;
} & (
  | {
      readonly status: "completed";
      /** Deeply frozen, and not shared. */
      readonly output: JsonValue;
      /** How the model reads the output, if the tool runs elsewhere and says so there. Not trusted. */
      readonly modelText?: string;
    }
  | FailedOutcome
  | {
      readonly status: "limit_exceeded";
      readonly limit: LimitName;
      /** What the model reads instead of the call's own limit: a limit that calls share was exceeded. */
      readonly message?: string;
    }
  | { readonly status: "timeout" /** Set if its time passed before it began. */; readonly hasBegun?: false }
  | { readonly status: "cancelled" }
  | {
      /**
       * It did not start; or, unless its effect is `none`, the sandbox was lost after it may have started.
       */
      readonly status: "unavailable";
      /** Set if it waited for its turn as long as it may: `used.waitedMs` says how long. */
      readonly hasWaited?: true;
    }
  | {
      /** The task did not start: the executor refused it with this message. */
      readonly status: "refused";
      readonly reason: TaskRefusalReason;
      readonly message: string;
    }
);

/** The tool failed. */
export interface FailedOutcome {
  readonly status: "failed";
  /** The tool's own message, or the sandbox's. */
  readonly message: string;
  /**
   * The tool's own code, or `sandbox_unavailable` if the sandbox could not continue the call. Default:
   * `execution_error`.
   */
  readonly code?: ToolFailureCode | "sandbox_unavailable";
  /** Whether users may see the message. Default: `false`, since a tool can say anything. */
  readonly userVisible?: boolean;
  /**
   * Set if a function of the embedder threw an error that is not meant for the model: see `unhandledErrors`.
   */
  readonly unhandled?: true;
  /** With `unhandled`: the operating system's code of the error, such as `ENOENT`, if it has one. */
  readonly systemCode?: string;
  /** For the embedder. Deeply frozen. */
  readonly metadata?: JsonObject;
}

/** Why an executor refused to start a task. */
export type TaskRefusalReason =
  | "validation_error"
  | "permission_denied"
  | "user_denied"
  | "confirmation_timeout"
  | "limit_unenforceable"
  | "sandbox_unavailable";
