import type { MaybePromise } from "../../base/promises.ts";
import type { RuleConditions } from "../../policy/rule/rule.ts";

/** Remembered answers: a part of a session store. */
export interface ApprovalTable {
  /**
   * Adds an approval. Does nothing if the id is known. Its session must be known, unless it is for a workspace.
   *
   * @returns `false` if the approval was removed before, and its session is known: it stays removed if it is added again.
   */
  addApproval(approval: Approval): MaybePromise<boolean>;
  /** Returns the approvals of all sessions and workspaces, in the order in which they were added. */
  approvals(): MaybePromise<readonly StoredApproval[]>;
  /** Counts a use. Returns `false` if the approval is unknown, or has covered as many calls as it may. */
  useApproval(id: string): MaybePromise<boolean>;
  /** Removes an approval. Returns `false` if it is unknown. */
  removeApproval(id: string): MaybePromise<boolean>;
}

/** For which calls an approval holds, and for how long. A person chooses it when answering an inquiry. */
export interface ApprovalScope {
  /** Names of tools, in which `*` matches any number of characters, as in a policy. */
  readonly tools: readonly string[];
  /** The conditions that a call must meet, as in a policy's rule. Default: none. */
  readonly when?: RuleConditions;
  /**
   * `session`: until the session is closed. `workspace`: in every session of the same principal with the same workspace,
   * until it is revoked. A number: in this session, for so many milliseconds.
   */
  readonly for: "session" | "workspace" | number;
  /** The number of calls that the approval covers; the call that was answered does not count. Default: no bound. */
  readonly calls?: number;
}

/** A remembered answer: the calls in its scope run without a question wherever the policy accepts that. */
export interface Approval extends ApprovalScope {
  /** The id of the inquiry whose answer made the approval. */
  readonly id: string;
  /** The session in which the person was asked. */
  readonly sessionId: string;
  /** The id of the session's principal; absent if the session has none. */
  readonly principal?: string;
  /** The workspace of that session, with links resolved; absent if it has none. */
  readonly workspace?: string;
  /** Who approved. */
  readonly by: string;
  /** When, in milliseconds since the epoch. */
  readonly at: number;
  /** From when on the approval no longer holds, in milliseconds since the epoch. Default: never. */
  readonly expiresAt?: number;
}

/** An approval, and how often it was used. */
export interface StoredApproval {
  readonly approval: Approval;
  /** The number of calls that it covered. Counted only if the approval bounds them. */
  readonly used: number;
}
