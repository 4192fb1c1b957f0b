import { race } from "../base/timers/race.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** The most messages of a session that are under way. */
const MAX_MESSAGES = 100;

/** The messages that the server has accepted, and that have not ended. */
export class MessagesUnderWay {
  readonly #sessions: Sessions;
  /** By session. */
  readonly #counts = new Map<string, number>();
  #onChange: (() => void) | undefined;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onInquiry(() => this.check());
  }

  /** Must be called when a session has no running call any more. */
  check(): void {
    this.#onChange?.();
  }

  /** Adds a message of a session. Returns a function to be called at its end; `undefined` if there are too many. */
  begin(sessionId: string): (() => void) | undefined {
    const count = this.#counts.get(sessionId) ?? 0;
    if (count >= MAX_MESSAGES) return undefined;
    this.#counts.set(sessionId, count + 1);
    return () => {
      const left = (this.#counts.get(sessionId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(sessionId);
      else this.#counts.set(sessionId, left);
      this.check();
    };
  }

  /** Resolves when every session with a message waits for a person and has no running call, or after this time. */
  async idle(maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onChange = () => {
      const waiting = new Set(this.#sessions.openInquiries().map(({ sessionId }) => sessionId));
      const isIdle = (id: string): boolean =>
        waiting.has(id) && this.#sessions.get(id)?.lanes.isIdle !== false;
      if ([...this.#counts.keys()].every(isIdle)) resolve();
    };
    this.check();
    await race(promise, { timeoutMs: maxMs });
  }
}
