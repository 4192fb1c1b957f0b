import { WaitingReaders } from "../waiting-readers.ts";

/** An event of a session, as clients receive it. */
export interface LoggedEvent {
  /** Counts the events of the session, from 1. */
  readonly number: number;
  readonly type: string;
  /** JSON text. */
  readonly data: string;
  /** What the caller of the session reads in its place. Default: the same. */
  readonly callerData?: string;
}

/** Bounds of the events that are retained for clients that read slowly, or come back. */
export interface EventLogBounds {
  readonly events: number;
  readonly bytes: number;
}

/** The latest events of one session. A client costs nothing here: it only knows how far it has read. */
export class EventLog {
  readonly #bounds: EventLogBounds;
  readonly #onBytes: (change: number) => void;
  readonly #events = new Map<number, LoggedEvent>();
  readonly #readers = new WaitingReaders();
  #first = 1;
  #next = 1;
  #bytes = 0;
  #isClosed = false;

  /** @param onBytes Called with each change of the bytes that are retained. */
  constructor(bounds: EventLogBounds, onBytes: (change: number) => void) {
    this.#bounds = bounds;
    this.#onBytes = onBytes;
  }

  /** The number of the latest event; 0 if there was none. */
  get last(): number {
    return this.#next - 1;
  }

  /** Whether there will be no further events. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Adds an event, and returns its number. */
  add(event: Omit<LoggedEvent, "number">): number {
    const number = this.#next++;
    this.#events.set(number, { number, ...event });
    this.#count(bytesOf(event));
    while (this.#events.size > this.#bounds.events || this.#bytes > this.#bounds.bytes) this.forgetOldest();
    this.#readers.wake();
    return number;
  }

  /** Forgets the oldest event. Returns `false` if the log is empty. */
  forgetOldest(): boolean {
    const oldest = this.#events.get(this.#first);
    if (oldest === undefined) return false;
    this.#events.delete(this.#first++);
    this.#count(-bytesOf(oldest));
    return true;
  }

  /** Returns the event after the one with this number, and how many between them are no longer retained. */
  after(number: number): { readonly event: LoggedEvent | undefined; readonly lost: number } {
    const wanted = Math.max(number + 1, this.#first);
    return { event: this.#events.get(wanted), lost: wanted - number - 1 };
  }

  /**
   * Waits until there is another event, the log is closed, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(signal: AbortSignal, maxMs: number): Promise<boolean> {
    return this.#isClosed ? Promise.resolve(false) : this.#readers.wait(signal, maxMs);
  }

  close(): void {
    this.#isClosed = true;
    while (this.forgetOldest());
    this.#readers.wake();
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#onBytes(bytes);
  }
}

/** Returns the most bytes that an event takes up. */
function bytesOf({ data, callerData = "" }: Omit<LoggedEvent, "number">): number {
  return (data.length + callerData.length) * 2 + 128;
}

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
