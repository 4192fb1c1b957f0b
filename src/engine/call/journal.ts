import type { CanonicalJson } from "../../json/canonical.ts";
import type { ArgumentSources } from "../../policy/call-history.ts";
import type { KernelChange } from "../../policy/capability-kernel.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { LimitName } from "../../policy/grant/limits.ts";
import type { NearMiss } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { CallEffect } from "../../sandboxes/contract/outcome.ts";
import type { Changes } from "../../tool/changes.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { ErrorCode } from "../errors.ts";
import type { AnsweredQuestion, GivenConfirmation, RecordedAnswer } from "./confirmation.ts";
import type { ExecutionReceipt } from "./execution.ts";

/** The record of calls. `Journal` of `sandgate/journal` implements it. */
export interface CallJournal {
  /**
   * Records a call before its sandbox gets it. Returns a promise that resolves when the record is durable; the engine
   * waits for it unless the tool's class is `none` or `read`; see also `awaitsEvery`.
   *
   * @throws if the record cannot be written, also as a rejection: the call does not run. As long as the journal is not
   *   able to write, it must throw synchronously, so that no call runs.
   */
  begin(record: DispatchedRecord): undefined | Promise<void>;
  /**
   * Records how a call ended that `begin` has recorded. The engine does not wait for the record to be written: a promise that is
   * returned is not awaited, and its rejection is ignored.
   *
   * @throws if the record cannot be written: the receipt of the call then has `recorded: false`.
   */
  end(record: EndedRecord): unknown;
  /** Records a call that does not run. Errors and rejections are ignored: no effect lacks its record. */
  deny(record: DeniedRecord): unknown;
  /**
   * Returns what earlier processes recorded of calls of sessions, in the order of the calls; `undefined` for a call that is
   * not recorded as begun. What it returns takes precedence over a store of sessions. Default: nothing is recorded.
   *
   * @param since Milliseconds since the epoch: none of the calls was received before.
   * @throws if the records cannot be read, as a rejection.
   */
  findCalls?(calls: readonly SessionCall[], since: number): Promise<readonly (RecordedOutcome | undefined)[]>;
  /**
   * Records that a supervised agent was granted something, or that it was taken away. Errors are ignored. Default: it is not
   * recorded.
   */
  recordKernelChange?(change: KernelChange): void;
  /** Whether sessions say in records where arguments came from. Default: they do not. */
  readonly recordsSources?: boolean;
  /** Whether the engine waits for the records of every class. Default: not for `none` and `read`. */
  readonly awaitsEvery?: boolean;
  /** Why it cannot write now: an executor is not ready meanwhile. Default: it can. */
  readonly problem?: string | undefined;
  /** What is not written yet, for metrics: the number of records and the age of the oldest. Default: it is not known. */
  readonly backlog?: { readonly records: number; readonly oldestMs: number };
  /** How many records could neither be written nor buffered, for metrics. Default: it is not known. */
  readonly lost?: number;
}

/** Identifies a call of a session. Its `callId` is unique in its message only. */
export interface SessionCall {
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly callId: string;
  /** As the model named it. */
  readonly toolName: string;
  /** The id of the principal who called; absent if the session has none. */
  readonly principal?: string;
}

/** What is recorded of a call that began. */
export interface RecordedOutcome {
  readonly sideEffects: SideEffects;
  /** How it ended. Absent if the process ended first: whether the call took effect is not known. */
  readonly end?: Pick<EndedRecord, "success" | "code" | "effect">;
}

/** What all records of a call have. */
export interface CallRecord {
  readonly callId: string;
  readonly sessionId: string;
  /** Absent if the context does not say. */
  readonly turnId?: string;
  /** Absent if the context does not say. */
  readonly messageId?: string;
  /** As the model named it. */
  readonly toolName: string;
  /** The caller; absent if the context does not name one. */
  readonly principal?: Principal;
  /** The id of the call whose tool made this one; absent for a call of the model. */
  readonly parent?: string;
}

/** What is known of a call from a certain step on. A call that is about to run has all of it. */
export interface DecidedRecord extends CallRecord {
  /** The validated arguments as canonical text, and its digest. */
  readonly canonical?: CanonicalJson;
  readonly sideEffects?: SideEffects;
  readonly definitionDigest?: string;
  readonly decision?: "allow" | "ask" | "deny";
  /** The time of the decision, in milliseconds since the epoch. Absent if it did not depend on the time. */
  readonly decidedAt?: number;
  /** What the policy decided, if something over it, such as the mode of a session, made it another decision. */
  readonly policyDecision?: "allow" | "ask";
  /** The names of the rules that led to the decision. Empty if the policy names none. */
  readonly rules: readonly string[];
  /** The rules that would have allowed a denied call. */
  readonly near?: readonly NearMiss[];
  /** The version of the policy that decided, if it says so. */
  readonly policyRevision?: string;
  /** Where the arguments came from; absent if the journal does not ask for it, or the call is not one of a session. */
  readonly sources?: ArgumentSources;
  readonly confirmation?: GivenConfirmation;
  /** A person's answer to the confirmation of the call. Absent if nobody answered. */
  readonly answer?: RecordedAnswer;
  readonly grant?: ExecutionGrant;
}

/** A call that is about to run. */
export type DispatchedRecord = DecidedRecord &
  Required<Pick<DecidedRecord, "canonical" | "sideEffects" | "definitionDigest" | "decision" | "grant">> & {
    /** Set if the call continues from where an earlier process suspended it. Its beginning was recorded then, too. */
    readonly isSuspended?: true;
  };

/** A call that has ended. */
export interface EndedRecord extends CallRecord {
  /** Set if the call was suspended as the process ended, and continues in another one, which records it again. */
  readonly isSuspended?: true;
  readonly success: boolean;
  /** Absent on success. */
  readonly code?: ErrorCode;
  /** Absent on success. */
  readonly effect?: CallEffect;
  /** The limit that was exceeded, with `limit_exceeded`. */
  readonly limit?: LimitName;
  readonly receipt: ExecutionReceipt;
  /** The whole output, whose digest is computed when it is first read. */
  readonly output: CanonicalJson;
  /** What the call changed in files: see `ToolExecution.changes`. */
  readonly changes?: Changes;
  /** Who answered the questions of the tool: see `ToolExecution.questions`. */
  readonly questions?: readonly AnsweredQuestion[];
}

/** A call that does not run. */
export interface DeniedRecord extends DecidedRecord {
  /** `aborted` if a hook aborted the call. */
  readonly code: ErrorCode | "aborted";
  /** What a supervised agent reads in place of the code. Absent for other callers. */
  readonly slug?: string;
  /** For operators; absent if there is nothing to add to the code. */
  readonly reason?: string;
}
