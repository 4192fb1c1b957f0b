import { get, withQuery } from "./http.ts";

/** A session as it is listed. */
export interface SessionView {
  readonly id: string;
  readonly name?: string;
  readonly kind: string;
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
  readonly mode: unknown;
  readonly principal?: { readonly id: string };
  readonly parent?: string;
  readonly openInquiries: number;
  readonly stagedChanges: number;
  readonly runningCalls: number;
}

/** A change of a file that waits for a person. `diff` is escaped and redacted; `path` is foreign text as it is. */
export interface StagedChange {
  readonly path: string;
  readonly change: unknown;
  readonly diff: string;
  readonly missing: string;
  readonly digest: string;
  readonly conflict?: string;
}

/** The staged changes of a session. */
export interface StagedChanges {
  /** Of all of them. */
  readonly digest: string;
  readonly changes: readonly StagedChange[];
}

/** What an approver had a session remember. */
export interface Approval {
  readonly id: string;
  readonly tools: readonly string[];
  readonly by: string;
  /** In milliseconds since the epoch. */
  readonly at?: number;
  /** In milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** The conditions that a call must meet, as in a rule; absent if there are none. */
  readonly when?: unknown;
  /** How many calls it covers at most. */
  readonly calls?: number;
  /** How many it has covered; counted only if they are bounded. */
  readonly used: number;
}

interface Page {
  readonly sessions: readonly SessionView[];
  /** The `before` of the next page. */
  readonly next?: number;
}

/** Reads all sessions, page after page, the latest first. */
export async function readSessions(): Promise<readonly SessionView[]> {
  const sessions: SessionView[] = [];
  let before: number | undefined;
  do {
    const page: Page = await get(withQuery("/v1/sessions", { before, limit: 1_000 }));
    sessions.push(...page.sessions);
    before = page.next;
  } while (before !== undefined);
  return sessions;
}
