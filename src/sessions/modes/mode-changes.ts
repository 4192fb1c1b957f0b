import type { SessionMode } from "./mode.ts";

/** A mode that has changed, or a plan that a person has approved. Frozen. */
export interface ModeChange {
  readonly sessionId: string;
  readonly mode: SessionMode;
  /** Whether a person has approved a plan in this mode, so that the session decides as in `autonomous`. */
  readonly isPlanApproved: boolean;
  /** Who changed the mode, or approved the plan; absent if it is not known. */
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** Called with each change. Errors that it throws are ignored. */
export type ModeListener = (change: ModeChange) => void;

/** Those who are notified of changes of modes. */
export class ModeListeners {
  readonly #listeners = new Set<ModeListener>();

  /** Adds a listener. Returns a function that removes it. */
  on(listener: ModeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(change: ModeChange): void {
    Object.freeze(change);
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch {
        // A listener must not affect the session.
      }
    }
  }
}
