import type { MaybePromise } from "../../base/promises.ts";
import type { Approval, StoredApproval } from "./approval.ts";

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
