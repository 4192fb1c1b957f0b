import type { ToolCall } from "../../engine/call/call.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { Principal } from "../../policy/principal.ts";

/** How many turns of a session a store knows to be forgotten. */
export const MAX_FORGOTTEN_TURNS = 1_000;

/** A session, as it was opened. */
export interface SessionRecord {
  readonly id: string;
  /** What people call it; absent if it has no name. */
  readonly name?: string;
  /** Absent if the session has none. */
  readonly principal?: Principal;
  /** The absolute path of the workspace; absent if the session has none. */
  readonly workspace?: string;
  readonly mode: string;
  readonly kind: "main" | "worker";
  /** Patterns of the tools that the session may see. Default: all. */
  readonly tools?: readonly string[];
  /** Absent if a store keeps the calls of the session. */
  readonly durable?: false;
  /** The call of another session that runs the agent whose session this is; absent for the session of a person. */
  readonly parent?: { readonly sessionId: string; readonly callId: string };
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
}

/** One assistant message of a turn: calls that are dispatched together. */
export interface MessageRecord {
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  /** What the user said in the turn; absent if it is not known. */
  readonly userText?: string;
  /** The calls as they were received, in order. Their ids differ. */
  readonly calls: readonly ToolCall[];
  /** In milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** How far a call has come, for calls that are not ended. */
export interface CallRecord {
  readonly callId: string;
  /** `begun`: it was claimed. `ended`: `execution` is set. Otherwise it has not begun. */
  readonly state: "not-begun" | "begun" | "ended";
  readonly execution?: ToolExecution;
}

/** The answer to `claim`. */
export type Claim =
  /** The caller, and no other process, runs the call. */
  | { readonly state: "fresh" }
  /** The call was claimed before, and has not ended. It must not be run again. */
  | { readonly state: "begun" }
  | { readonly state: "ended"; readonly execution: ToolExecution }
  /** The message has another call with this id. */
  | { readonly state: "conflict" };
