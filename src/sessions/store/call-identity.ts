/** Identifies a call. Providers count the ids of calls anew in each message, so that `callId` alone does not. */
export interface CallIdentity {
  /** The id of the principal; absent if the session has none. */
  readonly principal?: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly callId: string;
  /** Identifies the name of the tool and the arguments, as the model sent them. */
  readonly digest: string;
}
