import { randomUUID } from "node:crypto";
import type { Run } from "./run.ts";
import { StateSeal } from "./sealed-state.ts";

/** How long a call waits for the next request of its client, in milliseconds. */
const HELD_MS = 5 * 60_000;
/** How many calls of one principal, and of all, wait so. */
const MAX_OF_PRINCIPAL = 32;
const MAX_HELD = 1_000;

interface Held {
  readonly run: Run;
  readonly principal: string;
  readonly nonce: string;
  readonly timer: NodeJS.Timeout;
}

/**
 * The calls that wait for the next request of their clients, on the wire without sessions. Each round has a state of its own,
 * which is sealed, bound to the principal and to the request, and opens once.
 */
export class HeldRuns {
  readonly #held = new Map<string, Held>();
  readonly #seal = new StateSeal();
  readonly #heldMs: number;

  /** @param heldMs Milliseconds for which a call is held. Default: 5 minutes. */
  constructor(heldMs: number = HELD_MS) {
    this.#heldMs = heldMs;
  }

  /**
   * Holds a call until {@link take}. When the time is over, the call is cancelled.
   *
   * @param principal The id of the principal; `""` if there is none.
   * @param binding What the next request must have in common with this one.
   * @returns the state for the client; `undefined` if there is no room, and the call is cancelled.
   */
  hold(run: Run, principal: string, binding: string): string | undefined {
    const own = [...this.#held.values()].filter((held) => held.principal === principal).length;
    if (own >= MAX_OF_PRINCIPAL || this.#held.size >= MAX_HELD) {
      run.cancel();
      return undefined;
    }
    const [id, nonce] = [randomUUID(), randomUUID()];
    const timer = setTimeout(() => {
      this.#held.delete(id);
      run.cancel();
    }, this.#heldMs);
    timer.unref();
    this.#held.set(id, { run, principal, nonce, timer });
    const expiresAt = Date.now() + this.#heldMs;
    return this.#seal.seal({ id, nonce, expiresAt }, bound(principal, binding));
  }

  /** Returns the call of a state, once; `undefined` if the state is not one of an open round for this request. */
  take(state: string, principal: string, binding: string): Run | undefined {
    const opened = this.#seal.open(state, bound(principal, binding));
    const held = opened && this.#held.get(opened.id);
    if (held === undefined || held.nonce !== opened?.nonce) return undefined;
    clearTimeout(held.timer);
    this.#held.delete(opened.id);
    return held.run;
  }

  /** Cancels all calls that are held. */
  close(): void {
    for (const { run, timer } of this.#held.values()) {
      clearTimeout(timer);
      run.cancel();
    }
    this.#held.clear();
  }
}

function bound(principal: string, binding: string): string {
  return JSON.stringify([principal, binding]);
}
