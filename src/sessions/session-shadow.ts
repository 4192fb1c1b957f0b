import type { AcceptedChanges } from "../changes/accepted-changes.ts";
import type { PendingChange } from "../changes/pending/pending.ts";
import type { ShadowTree } from "../changes/shadow/shadow.ts";
import { holdsChanges } from "./deciding/levels.ts";
import type { Session } from "./session.ts";

/**
 * A copy of a session's workspace, in which another session works. Its grants give the copy in place of the workspace, so
 * that nothing that its tools change, programs included, reaches the workspace before {@link merge}.
 */
export class SessionShadow {
  /** The session that works in the copy. */
  readonly session: Session;
  readonly #parent: Session;
  readonly #tree: ShadowTree;

  /** @internal */
  constructor(parent: Session, session: Session, tree: ShadowTree) {
    this.session = session;
    this.#parent = parent;
    this.#tree = tree;
  }

  /** The absolute path of the copy. */
  get directory(): string {
    return this.#tree.directory;
  }

  /** Returns what has changed in the copy, sorted by path. */
  pending(): Promise<readonly PendingChange[]> {
    return this.#tree.pending();
  }

  /**
   * Makes all changes of the copy in the workspace, or none of them. If the first session is in the mode `review` or
   * `audit`, its changes hold them instead. The copy stays, and can change further.
   *
   * @returns the paths, or conflicts with what has changed in the workspace since it was copied: then nothing was merged.
   */
  async merge(): Promise<AcceptedChanges> {
    const { changes, modeState } = this.#parent;
    if (!holdsChanges(modeState.base)) return this.#tree.merge();
    return changes.take((held) => this.#tree.merge(held));
  }

  /** Closes the session that works in the copy, and removes the copy. What was not merged is lost. */
  async discard(): Promise<void> {
    await this.session.close();
    this.#tree.discard();
  }
}
