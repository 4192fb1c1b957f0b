import { EventLog, type LoggedEvent } from "./event-log.ts";

/** The events that are retained of each session. */
const SESSION_BOUNDS = { events: 1_000, bytes: 4 * 1_024 * 1_024 } as const;
/** The bytes of the events of all sessions. Beyond it, the session that was silent for longest loses its events. */
const MAX_BYTES = 128 * 1_024 * 1_024;

/** The latest events of all sessions. */
export class EventLogs {
  /** The session with the latest event is the last one. */
  readonly #logs = new Map<string, EventLog>();
  #bytes = 0;

  /** Returns the log of a session, which begins now unless it has one. */
  of(sessionId: string): EventLog {
    let log = this.#logs.get(sessionId);
    if (log === undefined) {
      log = new EventLog(SESSION_BOUNDS, (change) => {
        this.#bytes += change;
      });
      this.#logs.set(sessionId, log);
    }
    return log;
  }

  /** Adds an event, and returns its number. */
  add(sessionId: string, event: Omit<LoggedEvent, "number">): number {
    const log = this.of(sessionId);
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    const number = log.add(event);
    if (this.#bytes > MAX_BYTES) this.#forget();
    return number;
  }

  #forget(): void {
    for (const log of this.#logs.values()) {
      while (this.#bytes > MAX_BYTES && log.forgetOldest());
      if (this.#bytes <= MAX_BYTES) return;
    }
  }

  /** Ends the events of a session that is closed. */
  close(sessionId: string): void {
    this.#logs.get(sessionId)?.close();
    this.#logs.delete(sessionId);
  }

  closeAll(): void {
    for (const id of [...this.#logs.keys()]) this.close(id);
  }
}
