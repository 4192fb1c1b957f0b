import type { AcceptedChanges, PendingChange } from "../changes/pending.ts";
import type { ShadowTree } from "../changes/shadow.ts";
import { checkId } from "./ids.ts";
import { stagesChanges } from "./levels.ts";
import type { Session } from "./session.ts";
import type { OpenSessionOptions } from "./session-record.ts";

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
   * Applies all changes of the copy to the workspace, or none of them. If the first session is in the mode
   * `review` or `audit`, they are staged there instead. The copy stays, and can change further.
   *
   * @returns the paths, or conflicts with what has changed in the workspace since it was copied: then nothing
   *   was merged.
   */
  async merge(): Promise<AcceptedChanges> {
    const { changes, modeState } = this.#parent;
    if (!stagesChanges(modeState.base)) return this.#tree.merge();
    return changes.take((staged) => this.#tree.merge(staged));
  }

  /** Closes the session that works in the copy, and removes the copy. What was not merged is lost. */
  async discard(): Promise<void> {
    await this.session.close();
    this.#tree.discard();
  }
}

/**
 * Copies the workspace of a session, and opens another session in the copy: see `Sessions.shadow`.
 *
 * @param open Opens a session.
 * @throws as `Sessions.shadow` does, as a rejection.
 */
export async function openShadow(
  session: Session,
  taskId: string,
  options: Omit<OpenSessionOptions, "workspace" | "principal">,
  open: (options: OpenSessionOptions) => Promise<Session>,
): Promise<SessionShadow> {
  const { realWorkspace, shadowPlace, principal, kind, modeState, mode, tools, origin } = session;
  if (realWorkspace === undefined) throw new TypeError("the session has no workspace");
  // The session that is opened here has no parent: an agent's restrictions would not apply to it.
  if (origin !== undefined) throw new TypeError("an agent works in the shadow of the session above it");
  if (shadowPlace !== undefined) throw new TypeError("the session works in a shadow itself");
  const { ShadowTree } = await import("../changes/shadow.ts");
  const tree = await ShadowTree.open(realWorkspace, checkId(taskId, "task"));
  const opened = await open({
    mode: stagesChanges(modeState.base) ? "cautious" : mode,
    kind,
    ...(tools !== undefined && { tools }),
    ...options,
    ...(principal !== undefined && { principal }),
    workspace: tree.directory,
  });
  return new SessionShadow(session, opened, tree);
}
