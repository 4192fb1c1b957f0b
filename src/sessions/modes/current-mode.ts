import type { ModeState } from "./mode.ts";
import { approvePlanIn } from "./modes.ts";
import { writeStoredMode } from "./stored-mode.ts";

/** Keeps the text of a mode. */
type Store = (text: string) => unknown;

/** The mode of a session. Changes are kept one after another, so that the store and this process agree on the last. */
export class CurrentMode {
  #state: ModeState;
  readonly #store: Store;
  #changing: Promise<unknown> | undefined;

  constructor(state: ModeState, store: Store) {
    this.#state = state;
    this.#store = store;
  }

  get state(): ModeState {
    return this.#state;
  }

  /** Changes the mode as soon as it is kept. Rejects, and changes nothing, if it cannot be kept. */
  set(state: ModeState): Promise<void> {
    return this.#change(() => state).then(() => undefined);
  }

  /** Approves the plan. Resolves to `false` if the mode awaits none by then. */
  approvePlan(): Promise<boolean> {
    return this.#change((current) => (current.isPlanApproved ? current : approvePlanIn(current)));
  }

  /** Resolves to whether the mode is another one then. */
  async #change(next: (current: ModeState) => ModeState): Promise<boolean> {
    const before = this.#changing;
    const changing = (async () => {
      await before?.catch(() => undefined);
      const state = next(this.#state);
      if (state === this.#state) return false;
      await this.#store(writeStoredMode(state));
      this.#state = state;
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
