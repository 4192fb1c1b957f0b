/** Bytes that all waiting guests of a sandbox may hold. A guest that waits usually holds tens of KiB. */
const MAX_BYTES = 256 * 1_024 * 1_024;

/** Bytes that the waiting guests of one session may hold, so that one session cannot stop the others. */
const MAX_SESSION_BYTES: number = MAX_BYTES / 4;

/** The memory for guests that wait for replies: one budget for all calls of a sandbox. */
export class WaitingBudget {
  readonly #sessions = new Map<string, number>();
  #bytes = 0;

  /** Reserves memory for a waiting guest; `false` if the session's share or the whole budget is used up. */
  reserve(sessionId: string, bytes: number): boolean {
    const sessionBytes = (this.#sessions.get(sessionId) ?? 0) + bytes;
    if (sessionBytes > MAX_SESSION_BYTES || this.#bytes + bytes > MAX_BYTES) return false;
    this.#bytes += bytes;
    this.#sessions.set(sessionId, sessionBytes);
    return true;
  }

  /** Releases what was reserved for a guest. */
  release(sessionId: string, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#sessions.get(sessionId) ?? 0) - bytes;
    if (left > 0) this.#sessions.set(sessionId, left);
    else this.#sessions.delete(sessionId);
  }
}
