/** Milliseconds between two warnings: a store that fails again and again must not flood the log of an operator. */
const PAUSE_MS = 60_000;

/** Warns operators of a store that fails, with a warning of the process, at most once a minute. */
export class StoreWarnings {
  #warnedAt = Number.NEGATIVE_INFINITY;
  #left = 0;

  /** Warns now, or counts the warning in the next one. */
  warn(message: string): void {
    const now = performance.now();
    if (now - this.#warnedAt < PAUSE_MS) {
      this.#left++;
      return;
    }
    const more = this.#left === 0 ? "" : ` (${this.#left} further warnings in between)`;
    this.#warnedAt = now;
    this.#left = 0;
    emit(`${message}${more}`);
  }

  /** Warns in any case. */
  warnLast(message: string): void {
    emit(message);
  }
}

function emit(message: string): void {
  process.emitWarning(message, { code: "SANDGATE_SESSION_STORE_FAILED" });
}
