import { race } from "../base/timers.ts";
import type { UnderWay } from "./calls/core.ts";

/** Milliseconds for which a cancelled call is waited for. */
const ABANDONED_AFTER_MS = 30_000;

/** The messages of a turn that have calls without a result. A turn has these only while there are some. */
export class UnfinishedMessages {
  readonly #messages = new Set<UnderWay>();
  /** Resolves when none is left; `undefined` unless that is waited for. */
  #idle: PromiseWithResolvers<void> | undefined;

  get isEmpty(): boolean {
    return this.#messages.size === 0;
  }

  add(message: UnderWay): void {
    this.#messages.add(message);
  }

  delete(message: UnderWay): void {
    this.#messages.delete(message);
    if (this.isEmpty) this.#idle?.resolve();
  }

  /** Whether the model made a call in a message, which has no result yet. */
  isRunning(messageId: string, callId: string): boolean {
    for (const message of this.#messages) {
      if (message.id === messageId && message.isRunning(callId)) return true;
    }
    return false;
  }

  /**
   * Releases the session's slot of a call.
   *
   * @returns a function that waits for a slot again.
   */
  suspendSlot(callId: string): () => Promise<void> {
    const reclaims = Array.from(this.#messages, (message) => message.suspendSlot?.(callId));
    return async () => {
      await Promise.all(reclaims.map((reclaim) => reclaim?.()));
    };
  }

  /**
   * Waits until all have ended, after they were asked to stop. Those that have not in 30 seconds are abandoned with a warning.
   *
   * @param waitsForAbandoned Whether to wait until the messages that were abandoned have ended, too.
   */
  async ended(waitsForAbandoned: boolean): Promise<void> {
    this.#idle ??= Promise.withResolvers();
    const { promise: idle } = this.#idle;
    if ((await race(idle, { timeoutMs: ABANDONED_AFTER_MS })) !== "timeout") return;
    for (const message of this.#messages) message.abandon();
    if (waitsForAbandoned) await idle;
  }
}
