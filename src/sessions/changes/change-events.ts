import type { ChangeConflict } from "../../changes/accepted-changes.ts";

/** What happened to the held changes of a session. Frozen. */
export interface ChangeEvent {
  readonly type: "pending" | "accepted" | "rejected" | "conflicts";
  readonly sessionId: string;
  /**
   * The files, relative to the workspace: those that a call has changed (`pending`; at most 1,000), that were accepted or
   * rejected, or that could not be accepted.
   */
  readonly paths: readonly string[];
  /** Why nothing was accepted. Only of `conflicts`. */
  readonly conflicts?: readonly ChangeConflict[];
  /** Who accepted or rejected them; absent if it is not known. */
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** Called with each event. Errors that it throws are ignored. */
export type ChangeListener = (event: ChangeEvent) => void;

/** Those who are told what happens to held changes. */
export class ChangeListeners {
  readonly #listeners = new Set<ChangeListener>();

  /** Adds a listener. Returns a function that removes it. */
  on(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(event: ChangeEvent): void {
    Object.freeze(event);
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch {
        // A listener must not affect the session.
      }
    }
  }
}
