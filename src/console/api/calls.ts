import { ApiError, get } from "./http.ts";

/** The parts of a call's time, in the order in which they begin. */
export const PHASES = ["gate", "parse", "decide", "wait", "hook", "record", "sandbox", "end"] as const;

/** What a call was doing, from `at` on for `ms` milliseconds; until now if `ms` is absent. */
export interface Phase {
  readonly name: (typeof PHASES)[number];
  /** Milliseconds after the call's start. */
  readonly at: number;
  readonly ms?: number;
}

/** A call as it is listed. */
export interface CallSummary {
  readonly ref: string;
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId?: string;
  readonly session?: {
    readonly name?: string;
    /** In milliseconds since the epoch. */
    readonly openedAt: number;
  };
  /** The `ref` of the call whose tool makes this one. */
  readonly parent?: string;
  readonly principal?: { readonly id: string };
  readonly sideEffects?: string;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly state: "running" | "waiting" | "completed" | "failed" | "aborted";
  /** The arguments as JSON in a line, escaped and redacted. */
  readonly summary?: string;
  /** The confirmation that the call waits for. */
  readonly requestId?: string;
  readonly decision?: string;
  readonly code?: string;
  readonly effect?: string;
  readonly sandbox?: string;
  readonly durationMs?: number;
  readonly phases: readonly Phase[];
}

/** A rule that matched a call. */
export interface MatchedRule {
  readonly name: string;
  readonly file?: string;
  readonly line?: number;
  readonly because: readonly string[];
}

/** Why a call was decided as it was. */
export interface Explanation {
  readonly decision: string;
  /** Why the call is denied, or what a person is asked. */
  readonly reason?: string;
  readonly rules: readonly MatchedRule[];
  readonly near: readonly { readonly rule: string; readonly missed: readonly string[] }[];
  /** JSON. */
  readonly grant?: string;
  readonly policyRevision?: string;
}

/** The smallest change of the policy that would allow a call that was denied, or why none is suggested. */
export type Suggestion = SuggestedChange | { readonly withheld: string };

/** The change. */
export interface SuggestedChange {
  /** What the changed policy decides. */
  readonly decision: string;
  readonly text: string;
  readonly yaml: string;
  readonly where: string;
  /** Other calls that the change would allow. */
  readonly widens: readonly string[];
  /** The change for exactly this call, if the first one allows more. */
  readonly exactly?: SuggestedChange;
}

/** A whole call. Its texts are escaped and redacted by the server. */
export interface CallDetail extends CallSummary {
  readonly arguments?: string;
  readonly output?: string;
  readonly log: readonly string[];
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly effect: string;
    readonly limit?: string;
    readonly detail?: string;
  };
  readonly explanation?: Explanation;
  readonly receipt?: Readonly<Record<string, unknown>>;
  readonly confirmation?: Readonly<Record<string, unknown>>;
  readonly suggestion?: Suggestion;
}

/** Reads a whole call. */
export async function readCall(ref: string): Promise<CallDetail> {
  try {
    return await get(`/v1/calls/${encodeURIComponent(ref)}`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const message = "The server no longer has this call. History has it if calls are recorded.";
    throw new ApiError(error.status, error.code, message);
  }
}

/** The codes of calls that were not allowed to run. */
const DENIED: readonly string[] = ["permission_denied", "user_denied", "confirmation_timeout"];

/** The state of a call as people read it: one that was not allowed to run is denied, and did not fail. */
export function shownState({ state, code = "" }: CallSummary): string {
  return state === "failed" && DENIED.includes(code) ? "denied" : state;
}
