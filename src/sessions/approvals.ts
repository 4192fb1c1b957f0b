import type { MaybePromise } from "../base/promises.ts";
import type { PolicyRequest } from "../policy/policy.ts";
import { RuleMatcher } from "../policy/rule/rule-matcher.ts";
import type { ApprovalScope } from "./confirmations/confirmation.ts";

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

/** A remembered answer: the calls in its scope run without a confirmation wherever the policy accepts that. */
export interface Approval extends ApprovalScope {
  /** The id of the confirmation whose answer made the approval. */
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
  /** When the approval expires, in milliseconds since the epoch. Default: never. */
  readonly expiresAt?: number;
}

/** An approval, and how often it was used. */
export interface StoredApproval {
  readonly approval: Approval;
  /** The number of calls that it covered. Counted only if the approval bounds them. */
  readonly used: number;
}

/** Where an approval applies. */
export interface ApprovalPlace {
  readonly sessionId: string;
  /** The id of the session's principal; absent if the session has none. */
  readonly principal?: string;
  /** The session's workspace, with links resolved; absent if it has none. */
  readonly workspace?: string;
}

/** A person's answer that is to be remembered. */
export interface RememberedAnswer extends ApprovalPlace {
  /** The id of the confirmation. The same answer is remembered once, even if a restart repeats it. */
  readonly id: string;
  readonly by: string;
  /** When it was given, in milliseconds since the epoch. */
  readonly at: number;
  readonly scope: ApprovalScope;
}

/** Maximum number of approvals of a session, or of a workspace. The oldest is removed first. */
const MAX_APPROVALS = 1_000;

interface RememberedApproval {
  readonly approval: Approval;
  readonly matcher: RuleMatcher;
  used: number;
}

/** What people approved beyond the call that they confirmed. It never allows what a policy does not. */
export class Approvals {
  readonly #store: ApprovalTable;
  readonly #now: () => number;
  /** Whether other processes add and remove approvals, too. */
  readonly isShared: boolean;
  /** By {@link keyOf}. */
  readonly #byKey = new Map<string, RememberedApproval[]>();

  /**
   * @param now Returns milliseconds since the epoch.
   * @param options.isShared Whether other processes add and remove approvals, too. Default: `false`.
   */
  constructor(store: ApprovalTable, now: () => number, { isShared = false }: { isShared?: boolean } = {}) {
    this.#store = store;
    this.#now = now;
    this.isShared = isShared;
  }

  /** Reads the approvals of earlier processes, and of other running ones. */
  async restore(): Promise<void> {
    const stored = await this.#store.approvals();
    if (this.isShared) this.#byKey.clear();
    for (const { approval, used } of stored) {
      if (this.#isExpired(approval)) await this.#store.removeApproval(approval.id);
      else this.#remember(approval, used);
    }
  }

  /**
   * Remembers an answer. In a session without a workspace, an approval for the workspace applies to the session.
   *
   * @returns the approval, after it was stored; `undefined` if it was revoked before.
   */
  async remember({ scope, ...answer }: RememberedAnswer): Promise<Approval | undefined> {
    const isEverywhere = scope.for === "workspace" && answer.workspace !== undefined;
    const approval: Approval = Object.freeze({
      ...scope,
      ...(scope.for === "workspace" && !isEverywhere && { for: "session" as const }),
      ...answer,
      ...(typeof scope.for === "number" && { expiresAt: answer.at + scope.for }),
    });
    if ((await this.#store.addApproval(approval)) === false) return undefined;
    const remembered = this.#remember(approval, 0);
    const [oldest] = remembered;
    const superfluous = remembered.filter((other) => this.#isExpired(other.approval));
    if (remembered.length > MAX_APPROVALS && oldest !== undefined) superfluous.push(oldest);
    for (const { approval: other } of superfluous) await this.#remove(other);
    return approval;
  }

  /**
   * Returns an approval that covers a call, one without a bound of calls first; `undefined` if none.
   *
   * @see {@link use}, which counts the call.
   */
  find(place: ApprovalPlace, { tool, ...call }: PolicyRequest): Approval | undefined {
    if (this.#byKey.size === 0) return undefined;
    let bounded: Approval | undefined;
    for (const key of keysOf(place)) {
      for (const { approval, matcher, used } of this.#byKey.get(key) ?? []) {
        if (used >= (approval.calls ?? Number.POSITIVE_INFINITY) || this.#isExpired(approval)) continue;
        // An unclear match does not count: the arguments may be other than they appear to be.
        if (!matcher.concerns(tool) || matcher.match(call) !== "yes") continue;
        if (approval.calls === undefined) return approval;
        bounded ??= approval;
      }
    }
    return bounded;
  }

  /**
   * Counts a call that an approval covers. Returns `false` if the approval was revoked, or has covered as many calls as it
   * may: the call is not covered then.
   */
  use({ id, ...approval }: Approval): MaybePromise<boolean> {
    const remembered = this.#byKey.get(keyOf(approval))?.find((other) => other.approval.id === id);
    if (remembered === undefined) return false;
    // Another process could have revoked it.
    if (this.isShared) return this.#store.useApproval(id);
    if (approval.calls === undefined) return true;
    if (remembered.used >= approval.calls) return false;
    // At once, so that the next call finds another approval while this one is stored.
    remembered.used++;
    return this.#store.useApproval(id);
  }

  /** Reads what other processes have added and removed, if the approvals are shared. */
  async refresh(): Promise<void> {
    if (this.isShared) await this.restore();
  }

  /** Returns the approvals that apply in a session, the oldest first. */
  list(place: ApprovalPlace): readonly StoredApproval[] {
    return keysOf(place)
      .flatMap((key) => this.#byKey.get(key) ?? [])
      .filter(({ approval }) => !this.#isExpired(approval))
      .map(({ approval, used }) => ({ approval, used }))
      .sort((one, other) => one.approval.at - other.approval.at);
  }

  /** Revokes an approval that applies in a session. Returns `false` if it does not exist. */
  async revoke(place: ApprovalPlace, id: string): Promise<boolean> {
    const found = this.list(place).find(({ approval }) => approval.id === id);
    if (found === undefined) return false;
    await this.#remove(found.approval);
    return true;
  }

  /** Forgets the approvals of a session that is closed. The store removes them with the session. */
  forgetSession(sessionId: string): void {
    this.#byKey.delete(sessionKey(sessionId));
  }

  #remember(approval: Approval, used: number): readonly RememberedApproval[] {
    const key = keyOf(approval);
    const { tools, when } = approval;
    const matcher = new RuleMatcher({ tools, ...(when !== undefined && { when }) }, this.#now);
    const remembered = this.#byKey.get(key) ?? [];
    this.#byKey.set(key, remembered);
    if (!remembered.some((other) => other.approval.id === approval.id))
      remembered.push({ approval, matcher, used });
    return remembered;
  }

  /** The approval has no effect any more when this returns, even if the store fails. */
  async #remove(approval: Approval): Promise<void> {
    const key = keyOf(approval);
    const left = this.#byKey.get(key)?.filter((other) => other.approval.id !== approval.id) ?? [];
    if (left.length > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
    await this.#store.removeApproval(approval.id);
  }

  #isExpired({ expiresAt = Number.POSITIVE_INFINITY }: Approval): boolean {
    return this.#now() >= expiresAt;
  }
}

/** Identifies the sessions in which an approval applies. */
function keyOf(approval: Omit<Approval, "id">): string {
  return approval.for === "workspace" ? workspaceKey(approval) : sessionKey(approval.sessionId);
}

function keysOf(place: ApprovalPlace): readonly string[] {
  const { sessionId, workspace } = place;
  return workspace === undefined ? [sessionKey(sessionId)] : [sessionKey(sessionId), workspaceKey(place)];
}

function sessionKey(sessionId: string): string {
  return JSON.stringify([sessionId]);
}

function workspaceKey({ principal = "", workspace }: ApprovalPlace): string {
  return JSON.stringify([principal, workspace]);
}
