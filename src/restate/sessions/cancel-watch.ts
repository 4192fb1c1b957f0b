import type { Attempts } from "../calls/attempts.ts";

/** How often is asked whether calls that run are cancelled, in ms. */
const ASK_EVERY_MS = 1_000;

/** Returns those of some turns of a session that are cancelled. */
type CancelledTurns = (sessionId: string, turnIds: readonly string[]) => Promise<readonly string[]>;

/** Cancels the calls of this process whose turn was cancelled, by any process, or whose session was closed. */
export class CancelWatch {
  readonly #attempts: Attempts;
  readonly #cancelledTurns: CancelledTurns;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(attempts: Attempts, cancelledTurns: CancelledTurns) {
    this.#attempts = attempts;
    this.#cancelledTurns = cancelledTurns;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#ask().finally(() => this.start());
    }, ASK_EVERY_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    const bySession = new Map<string, Set<string>>();
    for (const { sessionId, turnId } of this.#attempts.running(ASK_EVERY_MS)) {
      const turns = bySession.get(sessionId) ?? new Set();
      bySession.set(sessionId, turns.add(turnId));
    }
    for (const [sessionId, turnIds] of bySession) {
      try {
        const cancelled = await this.#cancelledTurns(sessionId, [...turnIds]);
        if (cancelled.length > 0) this.#attempts.cancel(sessionId, cancelled);
      } catch {
        // Restate cannot be reached. It is asked again.
      }
    }
  }
}
