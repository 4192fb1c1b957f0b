import type { ToolCall } from "../../../src/engine/call.ts";
import type { JsonValue } from "../../../src/json/value.ts";

/** A call about which another library asks. */
export interface PendingCall {
  /** What the library calls it: an approval, an interrupt or a call. */
  readonly id: string;
  readonly callId: string;
  readonly arguments: JsonValue;
}

/** Where a conversation has stopped: for answers, or at its end if nothing is pending. */
export interface Stop {
  /** What the application stores and hands over again. */
  readonly state: string;
  readonly pending: readonly PendingCall[];
}

/** The library does not accept the answers. The conversation has not moved. */
export interface Refusal {
  readonly refused: string;
}

export interface PeerAnswer {
  readonly id: string;
  readonly isAllowed: boolean;
  readonly isAlways: boolean;
  readonly arguments?: JsonValue;
}

/** A conversation with an agent of another library. */
export interface Conversation {
  start(): Promise<Stop>;
  resume(state: string, answers: readonly PeerAnswer[]): Promise<Stop | Refusal>;
  /** Puts the arguments of all calls so far into a state, for libraries whose caller hands them over again. */
  handOver?(state: string, calls: readonly ToolCall[]): string;
}

/** What a conversation is given. */
export interface PeerHost {
  readonly session: string;
  readonly definition: string;
  /** What survives a crash. */
  readonly disk: Record<string, unknown>;
  /** Fails, or never resolves, as a write of the store does. */
  beforeWrite(): Promise<void>;
  /** The calls of the model's next message after so many calls; `undefined` if it has no more. */
  nextCalls(after: number): readonly ToolCall[] | undefined;
  isDenied(): boolean;
  run(name: string, callId: string, input: JsonValue): Promise<JsonValue>;
}

/** A library, in one of the ways in which it can be used. A module of bench/peers/races exports some. */
export interface Peer {
  readonly name: string;
  readonly package: string;
  /** Whether a conversation goes on once all that is pending is answered. Default: with each answer. */
  readonly takesAnswersTogether?: boolean;
  /** Whether the library has a store of its own. */
  readonly keepsState?: boolean;
  /** Why it cannot be told other arguments, `always`, that a policy denies, or calls again. */
  readonly missing: { readonly [what in "edit" | "always" | "deny" | "resend"]?: string };
  open(host: PeerHost): Conversation;
}
