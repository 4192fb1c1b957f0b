import type { MaybePromise } from "../../base/promises.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { NestedResult } from "../../sandboxes/contract/sandbox.ts";
import type { OpenCall, TaskSuspension } from "../../sandboxes/contract/suspension.ts";
import type { Work } from "../work-report.ts";
import type { GivenConfirmation } from "./confirmation.ts";

/** Persists calls that wait, so that they outlive their process: see `openSuspensions` of `sandgate/programs`. */
export interface CallSuspensions {
  /** Begins the suspension of a call that its sandbox is about to get. Writes nothing yet. */
  begin(call: SuspendableCall): CallSuspension;
  /**
   * Opens a call that an earlier process suspended.
   *
   * @throws as a rejection, if it does not exist or must not continue here: changed, sealed with another key, of another
   *   principal, and so on. The message names the reason, for the model.
   */
  reopen(call: SuspendableCall): Promise<ReopenedSuspension>;
  /** Whether the call is suspended, and no process has resumed it. */
  isSuspended(place: CallPlace): MaybePromise<boolean>;
  /** Returns the calls that are suspended, and no process has resumed, the oldest first. */
  waiting(): MaybePromise<readonly WaitingCall[]>;
  /** Forgets a call that is suspended, and those of its tool. Does nothing if a process has resumed it, or it is unknown. */
  forget(place: CallPlace): MaybePromise<void>;
  /**
   * Forgets the calls that can never continue, and what only they needed: those that are lost, and those whose time was over
   * long ago. Never rejects.
   *
   * @param isLost Whether no process continues a call.
   */
  clean(isLost: (call: SuspendedCall) => boolean): MaybePromise<void>;
}

/** A call that is retained. */
export interface SuspendedCall extends CallPlace {
  /** Whether a process has resumed it, and not suspended it again. */
  readonly isResumed: boolean;
}

/** Where a call was made. */
export interface CallPlace {
  readonly sessionId: string;
  /** Empty if the context does not say. */
  readonly turnId: string;
  /** Empty if the context does not say. */
  readonly messageId: string;
  readonly callId: string;
}

/** A suspended call, for those who are to know of it. */
export interface WaitingCall extends CallPlace {
  /** The id of the principal; absent if it is not known. */
  readonly principal?: string;
  readonly toolName: string;
  /** In milliseconds since the epoch. */
  readonly suspendedAt: number;
  /** Until when it may wait for people, in milliseconds since the epoch. */
  readonly waitUntil: number;
  /** The calls that it waits for. */
  readonly open: readonly OpenCall[];
}

/** A call that can be suspended. */
export interface SuspendableCall extends CallPlace {
  /** The id of the principal; absent if it is not known. */
  readonly principal?: string;
  readonly toolName: string;
  /** The SHA-256 of the canonical JSON of the tool's name and the arguments. */
  readonly digest: string;
  /**
   * Returns the state of the call to persist now.
   *
   * @param open The calls of its tool that count as open, even if they have ended meanwhile.
   */
  readonly describe: (open: readonly OpenCall[]) => EngineState;
}

/** What the engine persists of a suspended call. */
export interface EngineState {
  readonly grant: ExecutionGrant;
  readonly limits: ResourceLimits;
  /** Absent if no person confirmed the call. */
  readonly confirmation?: GivenConfirmation;
  /** Absent if the policy says none. */
  readonly policyRevision?: string;
  /** The digest of the definitions of its tool and of the tools that it may call. */
  readonly definitions: string;
  /** How many calls were made in the tree below the call. */
  readonly nestedCalls: number;
  /** What the tool has done; absent unless the model reads it. */
  readonly work?: Work;
}

/** The suspension of a call that an earlier process suspended. */
export interface ReopenedSuspension extends CallSuspension {
  /** The state of the call when it was suspended. */
  readonly restored: EngineState;
}

/** The suspension of one call. */
export interface CallSuspension extends TaskSuspension {
  /** Whether another process took over the call, so that its outcome here does not count. */
  readonly isLost: boolean;
  /** The state of the call when an earlier process suspended it; `undefined` if the call is new. */
  readonly restored: EngineState | undefined;
  /**
   * Claims a call of the tool before it runs, so that it does not run again after the caller was resumed.
   *
   * @param again Whether it runs again although it had begun, since that has no further effect.
   * @throws if it must not run, or the claim cannot be written, also as a rejection.
   */
  claim(call: ClaimedCall, again: boolean): MaybePromise<void>;
  /** Persists the result of a call of the tool. Never rejects. */
  end(call: ClaimedCall, result: NestedResult): MaybePromise<void>;
  /** Returns how far a call of the tool had come; `undefined` if it has not begun. */
  known(number: number): MaybePromise<"begun" | NestedResult | undefined>;
  /** Forgets the call, which has ended, unless the process is ending, and it is suspended. Never rejects. */
  close(): MaybePromise<void>;
}

/** A call of a tool that can be suspended. */
export interface ClaimedCall {
  readonly number: number;
  /** The SHA-256 of the canonical JSON of the tool's name and the arguments. */
  readonly digest: string;
}
