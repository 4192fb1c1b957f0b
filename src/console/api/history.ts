/** What is known of the journal. */
export interface JournalInfo {
  readonly health: unknown;
  /** In bytes. */
  readonly size?: number;
  readonly entries?: number;
  readonly lastAt?: number | string;
  readonly checkpoints?: unknown;
}

/** A recorded call as it is listed. */
export interface RecordedCall {
  readonly seq: number;
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId?: string;
  readonly principal?: { readonly id: string };
  readonly state?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly decision?: string;
  readonly sideEffects?: string;
  readonly code?: string;
  readonly effect?: string;
  readonly durationMs?: number;
  readonly argumentDigest?: string;
}

/** The entries of a recorded call. */
export interface RecordedEntries {
  readonly begin: unknown;
  readonly end?: unknown;
  /** JSON, escaped and redacted. Sealed ones are opened for admins. */
  readonly arguments?: string;
}

/** A recorded call on which another policy would decide differently. */
export interface ChangedDecision {
  readonly seq: number;
  readonly toolName: string;
  readonly before: string;
  readonly after: string;
  /** Such as `wider grant`. */
  readonly changes: readonly string[];
  /** The rules that the policy names. */
  readonly rules: readonly string[];
}

/** What another policy would change. */
export interface PolicyDiff {
  readonly compared: number;
  /** The first ones. */
  readonly changed: readonly ChangedDecision[];
  readonly counts: {
    readonly different: number;
    /** The number of calls that failed before a policy decided. */
    readonly undecided: number;
    /** The number of calls that cannot be decided again, by the reason. */
    readonly undecidable: Readonly<Record<string, number>>;
  };
  /** Whether fewer calls were read than wanted. */
  readonly isCut: boolean;
}
