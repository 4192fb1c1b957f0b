import { isDeepStrictEqual } from "node:util";
import { type ModeState, readStoredMode, type SessionMode, writeStoredMode } from "./mode.ts";
import { approvePlanIn, type Modes } from "./modes.ts";

/** Stores the text of a mode. */
type Store = (text: string) => unknown;

/** The mode of a session. Changes are stored one after another, so that the store and this process agree on the last. */
export class CurrentMode {
  readonly #modes: Modes;
  /** As the store has it. */
  #text: string;
  #state: ModeState;
  readonly #store: Store;
  #changing: Promise<unknown> | undefined;

  /** @param text The mode as the store has it. */
  constructor(text: string, modes: Modes, store: Store) {
    this.#modes = modes;
    this.#text = text;
    this.#state = modes.restore(text);
    this.#store = store;
  }

  get state(): ModeState {
    return this.#state;
  }

  /** Changes the mode as soon as it is stored. Rejects, and changes nothing, if it cannot be stored. */
  set(state: ModeState): Promise<void> {
    return this.#change(() => state).then(() => undefined);
  }

  /**
   * Approves the plan. Resolves to `false` if the mode awaits none by then, or if the answer to this confirmation was applied
   * before: that answer does not approve a new plan that the mode awaits since then.
   */
  approvePlan(confirmationId: string): Promise<boolean> {
    return this.#change((current) => {
      if (current.isPlanApproved || confirmationId === this.#planConfirmation) return current;
      return approvePlanIn(current);
    }, confirmationId);
  }

  get #planConfirmation(): string | undefined {
    try {
      return readStoredMode(this.#text).planConfirmation;
    } catch {
      // A later version may read it.
      return undefined;
    }
  }

  /**
   * Reads the mode again, since the modes of the configuration were replaced. `manual` takes the place of one that is gone.
   *
   * @returns whether the session now decides differently.
   */
  readAgain(): boolean {
    const before = this.#state;
    this.#state = this.#modes.restore(this.#text);
    return !isDeepStrictEqual(before, this.#state);
  }

  /**
   * Takes over the mode as the store has it, which another process may have changed.
   *
   * @returns whether the session now decides differently.
   */
  takeOver(text: string): boolean {
    if (text === this.#text || this.#changing !== undefined) return false;
    this.#text = text;
    return this.readAgain();
  }

  /** Resolves to whether the mode has changed. */
  async #change(next: (current: ModeState) => ModeState, planConfirmation?: string): Promise<boolean> {
    const before = this.#changing;
    const changing = (async () => {
      await before?.catch(() => undefined);
      const state = next(this.#state);
      if (state === this.#state) return false;
      const text = writeStoredMode(state, planConfirmation ?? this.#planConfirmation);
      await this.#store(text);
      this.#text = text;
      // The modes of the configuration may have been replaced meanwhile.
      this.#state = this.#modes.restore(text);
      return true;
    })();
    this.#changing = changing;
    try {
      return await changing;
    } finally {
      if (this.#changing === changing) this.#changing = undefined;
    }
  }
}

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
