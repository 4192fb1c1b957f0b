import type { TraceHeaders } from "../base/trace-headers.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolCall } from "../engine/call.ts";
import type { JsonValue } from "../json/value.ts";
import type { CallConfirmation } from "./confirmations/confirmation.ts";
import type { ConfirmationBroker, Confirmer } from "./confirmations/confirmation-broker.ts";
import type { CountShared } from "./quotas.ts";
import type { MessageRecord, SessionRecord, SessionStore } from "./store/store.ts";

/** A call that is about to have its effect. */
export interface BeginningCall {
  /** Whether the call may be run again after it was begun: its tool changes nothing, or is idempotent. */
  readonly isRepeatable: boolean;
}

/** Where a durable runtime stops the dispatch of a call, since what comes next must be stored first. */
export interface CallGates {
  /** Identifies the call for tools that are idempotent. */
  readonly idempotencyKey: string;
  /** Asks people about the call. */
  readonly confirmations: Confirmer;
  /** Aborted if the call is cancelled, or continues in another process. */
  readonly signal: AbortSignal;
  /**
   * Resolves as long as the runtime is connected to this process for the call, which otherwise may continue in another one.
   * Rejects if the runtime does not retry the call in this process.
   */
  readonly connected: Promise<void>;
  /** Whether the call continues in another process, so that nothing more is reported of it here. */
  readonly isAbandoned: boolean;
  /** Resolves when the call may have its effect. Rejects if it must not run. */
  begin(call: BeginningCall): Promise<void>;
}

/** Runs the calls of sessions on any of several processes, each of which may end at any moment. */
export interface DurableRuntime {
  /** Stores the sessions. The runtime closes it. */
  readonly store: SessionStore;
  /** Why no messages are accepted now, for operators, unless that is the problem of the store; `undefined` if they are. */
  readonly problem: string | undefined;
  /** Returns a session as it is now; `undefined` if none. */
  session(id: string): Promise<SessionRecord | undefined>;
  /** Counts a call of a session, unless that would exceed a limit. */
  readonly count: CountShared;
  /** Returns the broker through which people are asked. Called once. */
  openConfirmations(options: { readonly timeoutMs: number }): ConfirmationBroker;
  /** Begins to give calls to this process. Called once. */
  start(host: DurableHost): Promise<void>;
  /**
   * Stores a message and runs its calls. Returns the earlier message if the turn has one with this id, which
   * stays as it is, `"forgotten"` if the message is refused since its turn was forgotten, and otherwise
   * `undefined`.
   *
   * @throws as a rejection, if it cannot be stored: its calls do not run then, unless the same message is
   *   sent again.
   */
  accept(message: DurableMessage): Promise<MessageRecord | "forgotten" | undefined>;
  /**
   * Waits for the results of a message that was accepted, in the order of its calls; `null` for a call that a hook aborted.
   *
   * @returns `undefined` if the runtime no longer has them: the store does.
   */
  results(message: MessagePlace): Promise<readonly (ToolExecution | null)[] | undefined>;
  /** Cancels the calls of a turn, wherever they run. Resolves when that is stored, and not when they have ended. */
  cancelTurn(sessionId: string, turnId: string): Promise<void>;
  close(): Promise<void>;
}

/** Identifies a message. */
export interface MessagePlace {
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  /** When it was accepted, in ms since the epoch: a turn that was forgotten can begin again, with messages of the same ids. */
  readonly receivedAt: number;
}

/** A message whose calls are to run. Their ids differ. */
export interface DurableMessage extends MessageRecord {
  /** Set if no person can be asked about its calls. */
  readonly unattended?: true;
  /** The trace that its calls belong to, on whichever server they run. Default: each begins one of its own. */
  readonly trace?: TraceHeaders;
  /** Set if the message does not wait for those of its session that came before. */
  readonly isAlone?: true;
  /** Set if the message is refused if its turn was forgotten: it may have run. */
  readonly refusesForgotten?: true;
}

/** A call of a message. */
export interface DurableCall
  extends Omit<DurableMessage, "calls" | "receivedAt" | "isAlone" | "refusesForgotten"> {
  readonly call: ToolCall;
  /**
   * The session, and a time before which it was not read, in milliseconds since the epoch. Default: it is read when the call is
   * dispatched.
   */
  readonly session?: { readonly record: SessionRecord; readonly readAt: number };
  /** Set if the call was begun and suspended by an earlier process, and continues from there. */
  readonly isSuspended?: true;
}

/** Dispatches calls in this process, for a {@link DurableRuntime}. */
export interface DurableHost {
  /**
   * Dispatches a call of a message.
   *
   * @throws as a rejection, if the session cannot be read. Anything else is a result.
   */
  dispatch(call: DurableCall, gates: CallGates): Promise<ToolExecution | null>;
  /** Whether an earlier process suspended the call, so that it can continue. */
  isSuspended(call: DurableCall): Promise<boolean>;
  /** How many calls of a tool may run at once; `Infinity` if there is no limit. */
  placesOf(toolName: string): number;
  /** Returns why a call could not run with the arguments that a person wrote; `undefined` if it could. */
  checkArguments(confirmation: CallConfirmation, edited: JsonValue): Promise<string | undefined>;
}
