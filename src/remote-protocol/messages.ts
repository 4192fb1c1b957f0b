import type { JsonObject, JsonValue } from "../json/value.ts";
import type { Capabilities } from "../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../policy/grant/limits.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";

/** The body of `POST /v1/dispatch`: one call, and the most that it may have. */
export interface DispatchRequest {
  readonly call: {
    /** At most 1,024 characters. With the session it names the call: see {@link DispatchRequest.session}. */
    readonly id: string;
    readonly name: string;
    /** The value, or JSON text. */
    readonly arguments: JsonValue;
  };
  /**
   * The conversation, at most 1,024 characters. A call of the same session, id, name and arguments is the same
   * call: it runs once.
   */
  readonly session: string;
  /** The caller's grant: an upper bound, under which the executor's own policy decides. */
  readonly grant: RemoteGrant;
  /** How long the caller waits for its answer, in ms. Default: as long as it takes. */
  readonly timeoutMs?: number;
}

/** What a caller lets a remote call have. Every limit is required: one that cannot be enforced refuses the call. */
export interface RemoteGrant {
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The answer: the executor's `ToolExecution` as it crosses the wire. */
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
  readonly receipt: {
    readonly enforced: ResourceLimits;
    /** Figures by name; an executor may tell more than this version knows. */
    readonly used: { readonly wallTimeMs: number; readonly [figure: string]: JsonValue | undefined };
  };
}

/** What an execution tells beside which call it is of. */
export type RemoteResult = Omit<RemoteExecution, "callId" | "toolName" | "arguments">;

/** Why a remote call failed: an `ErrorCode`, the text for the model, and what the failure left behind. */
export interface RemoteError {
  readonly code: string;
  readonly message: string;
  readonly effect: "none" | "committed" | "unknown";
  /** With the code `limit_exceeded`: which one, where the executor tells. */
  readonly limit?: LimitName;
}

/** The body of `GET /v1/tools`. */
export interface RemoteTools {
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: JsonObject;
  }[];
}
