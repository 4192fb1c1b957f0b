import { race } from "../base/race.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** A message whose calls have not all ended. */
interface Message {
  readonly sessionId: string;
  readonly turnId: string;
}

/** The most messages of a session that are under way. */
export const MAX_MESSAGES = 100;

/** The messages that the server has accepted, and that have not ended. */
export class MessagesUnderWay {
  readonly #sessions: Sessions;
  readonly #bySession = new Map<string, Set<Message>>();
  #onChange: (() => void) | undefined;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onInquiry(() => this.#onChange?.());
  }

  /** Whether a session can have another message. */
  hasRoom(sessionId: string): boolean {
    return (this.#bySession.get(sessionId)?.size ?? 0) < MAX_MESSAGES;
  }

  /** Adds a message. Returns a function to be called at its end. */
  add(sessionId: string, turnId: string): () => void {
    const message = { sessionId, turnId };
    const messages = this.#bySession.get(sessionId) ?? new Set();
    this.#bySession.set(sessionId, messages.add(message));
    return () => {
      messages.delete(message);
      if (messages.size === 0) this.#bySession.delete(sessionId);
      this.#onChange?.();
    };
  }

  /** Resolves when every session with a message waits for a person, or after this time. */
  async idle(maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onChange = () => {
      const waiting = new Set(this.#sessions.openInquiries().map(({ sessionId }) => sessionId));
      if ([...this.#bySession.keys()].every((id) => waiting.has(id))) resolve();
    };
    this.#onChange();
    await race(promise, { timeoutMs: maxMs });
  }
}
