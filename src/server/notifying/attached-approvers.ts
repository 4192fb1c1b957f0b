/** Counts the streams of events with which approvers follow sessions. */
export class AttachedApprovers {
  /** By the ids of sessions; no entry is zero. */
  readonly #streams = new Map<string, number>();

  /** @param ended Aborted when the stream has ended. */
  attach(sessionId: string, ended: AbortSignal): void {
    if (ended.aborted) return;
    this.#count(sessionId, 1);
    ended.addEventListener("abort", () => this.#count(sessionId, -1), { once: true });
  }

  has(sessionId: string): boolean {
    return this.#streams.has(sessionId);
  }

  #count(sessionId: string, change: 1 | -1): void {
    const streams = (this.#streams.get(sessionId) ?? 0) + change;
    if (streams > 0) this.#streams.set(sessionId, streams);
    else this.#streams.delete(sessionId);
  }
}
