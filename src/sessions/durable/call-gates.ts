import type { Asking } from "../confirmations/inquiry-broker.ts";

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
  readonly inquiries: Asking;
  /** Aborted if the call is cancelled, or goes on in another process. */
  readonly signal: AbortSignal;
  /**
   * Resolves as long as the runtime is connected to this process for the call, which otherwise may go on in another one.
   * Rejects if the runtime no longer comes back.
   */
  readonly connected: Promise<void>;
  /** Whether the call goes on in another process, so that nothing more is told of it here. */
  readonly isAbandoned: boolean;
  /** Resolves when the call may have its effect. Rejects if it must not run. */
  begin(call: BeginningCall): Promise<void>;
}
