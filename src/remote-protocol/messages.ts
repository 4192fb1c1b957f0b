import type { JsonObject, JsonValue } from "../json/value.ts";
import type { Capabilities } from "../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../policy/grant/limits.ts";
import type { Changes } from "../tool/changes.ts";
import type { Isolation, SandboxMode } from "../tool/sandbox-mode.ts";

/** The body of `POST /v1/dispatch`: a call, with an upper bound for its grant. */
export interface DispatchRequest {
  readonly call: {
    /**
     * At most 1,024 characters. Together with the session, it identifies the call: see {@link
     * DispatchRequest.session}.
     */
    readonly id: string;
    readonly name: string;
    /** The arguments, as a JSON value or as JSON text. */
    readonly arguments: JsonValue;
  };
  /**
   * Identifies the conversation, with at most 1,024 characters. Requests with the same session, call id, name
   * and arguments are the same call, which runs only once.
   */
  readonly session: string;
  /** The caller's grant: an upper bound for what the executor's own policy grants. */
  readonly grant: RemoteGrant;
  /** Milliseconds that the caller waits for the response. Default: unlimited. */
  readonly timeoutMs?: number;
  /** The id of the only process that may run the call: see `ProcessStamp`. Default: any. */
  readonly executor?: string;
  /**
   * Set if the call may have been sent before, and its result was lost. The executor then runs it only if it is certain
   * that it never ran: if `executor` names this process, and no call that arrived after `after` was forgotten. Otherwise
   * a call that it does not know is refused with `unknown_call`.
   */
  readonly again?: RepeatedRequest;
}

/** What the client knows about an earlier request for the same call. */
export interface RepeatedRequest {
  /** A time of the process `executor`, from an answer that the client got before it sent the call for the first time. */
  readonly after?: number;
}

/** The grant of a remote call. If a limit cannot be enforced, the call fails with `limit_unenforceable`. */
export interface RemoteGrant {
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The most UTF-16 code units of a text that a tool wrote for the model. Executors shorten a longer one. */
export const MAX_MODEL_TEXT = 30_000;

/** The body of a successful response: the executor's `ToolExecution` as JSON. */
export interface RemoteExecution {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonValue;
  readonly success: boolean;
  readonly output: JsonValue;
  readonly durationMs: number;
  readonly sandbox: SandboxMode | null;
  readonly error?: RemoteError;
  readonly metadata?: JsonObject;
  /** How the model reads the output, if the tool says so: at most {@link MAX_MODEL_TEXT} UTF-16 code units. */
  readonly modelText?: string;
  /** What the call changed in files of the executor's machine: see `ToolExecution.changes`. */
  readonly changes?: Changes;
  readonly receipt: {
    readonly enforced: ResourceLimits;
    /** Figures by name. Later versions may have more of them. */
    readonly used: { readonly wallTimeMs: number; readonly [figure: string]: JsonValue | undefined };
    /** Set if the call was stopped, but its end could not be confirmed. */
    readonly mayStillRun?: true;
    /** What is known about the end of a call that was stopped. */
    readonly ended?: "confirmed" | "requested" | "unknown";
    /** What the executor granted: see `ExecutionReceipt.grant`. */
    readonly grant?: { readonly digest: string };
    /** What confined the program of a call in the sandbox `process`. */
    readonly isolation?: Isolation;
  };
}

/** An execution without the members that repeat the call. */
export type RemoteResult = Omit<RemoteExecution, "callId" | "toolName" | "arguments">;

/**
 * Why a remote call failed: an `ErrorCode`, a text for the model, and the effect that the call may have had.
 */
export interface RemoteError {
  readonly code: string;
  readonly message: string;
  readonly effect: "none" | "committed" | "unknown";
  /** Whether users may see the message. Default: `false`. */
  readonly userVisible?: boolean;
  /** With `limit_exceeded`: the limit, if the executor reports it. */
  readonly limit?: LimitName;
}

/** The body of `GET /v1/tools`. */
export interface RemoteTools {
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: JsonObject;
    /** Set for a tool whose arguments are one text, which is not JSON. */
    readonly freeform?: true;
  }[];
}
