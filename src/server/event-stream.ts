import { ReadableStream as WebStream } from "node:stream/web";
import { FairBudget } from "../base/fair-budget.ts";
import type { UnreadBytes } from "../http/respond.ts";
import { STREAM_MEDIA_TYPE } from "../remote-protocol/http.ts";
import type { SessionEvent } from "../shapes/turns.ts";

/** Readers that wait until something happens. */
export class WaitingReaders {
  readonly #waiting = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /**
   * Waits until the readers are woken, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(signal: AbortSignal, maxMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (isLate: boolean): void => {
      clearTimeout(timer);
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", wake);
      resolve(isLate);
    };
    const wake = (): void => end(false);
    const timer = setTimeout(() => end(true), maxMs);
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake);
    if (signal.aborted) wake();
    return promise;
  }

  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

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

/** A client's view of the events of a session. */
export interface EventStreamOptions {
  readonly log: EventLog;
  /** Events of another process have other ids. */
  readonly epoch: string;
  /** The events that the client has not seen: those after this one. */
  readonly after: number;
  /** Whether the client is the caller of the session, and no more. */
  readonly isCaller: boolean;
  /** Events to send first, such as confirmations that are open. They have no ids. */
  readonly first: readonly SessionEvent[];
  /** Ends the stream with this event, after those that came before it. Default: the stream ends with the session. */
  readonly last?: Promise<FinalEvent>;
  /** Where the bytes of an event count until the client has read it. */
  readonly unread: UnreadBytes;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** The event that ends a stream. */
export interface FinalEvent {
  readonly number: number;
  readonly type: string;
  readonly data: string;
}

/** Milliseconds after which a silent stream sends a comment, so that dead connections are found. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

/**
 * Returns the events as server-sent events. Each is read when the client has read the one before it, so that a client that
 * does not read costs one event; what is dropped meanwhile is reported as `events.lost`.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return WebStream.from(eventsOf(options)) as ReadableStream<Uint8Array>;
}

async function* eventsOf(options: EventStreamOptions): AsyncGenerator<Uint8Array> {
  const { log, epoch, after, first, last, signal } = options;
  for (const event of first) yield chunk(event);
  let final: FinalEvent | undefined;
  const settled = new AbortController();
  last?.then(
    (event) => {
      final = event;
      settled.abort();
    },
    () => settled.abort(),
  );
  const woken = AbortSignal.any([signal, settled.signal]);
  let number = after;
  while (!signal.aborted) {
    const { event, lost } = log.after(number);
    if (event === undefined && settled.signal.aborted) break;
    if (event === undefined) {
      if (log.isClosed) return;
      if (await log.wait(woken, KEEP_ALIVE_MS)) yield KEEP_ALIVE;
      continue;
    }
    if (final !== undefined && event.number >= final.number) break;
    if (lost > 0) yield lostEvents(lost);
    number = event.number;
    yield* read(chunkOf(event, options), options);
  }
  // It may have been read before it was known to be the last one.
  if (final !== undefined && final.number > number && !signal.aborted)
    yield* read(write(final.data, final.type, `${epoch}-${final.number}`), options);
}

/** Sends an event if there is room for it until the client has read it. */
function* read(chunk: Uint8Array, { unread }: EventStreamOptions): Generator<Uint8Array> {
  if (!unread.acquire(chunk.length)) {
    yield lostEvents(1);
    return;
  }
  try {
    yield chunk;
  } finally {
    unread.release(chunk.length);
  }
}

function lostEvents(count: number): Uint8Array {
  return chunk({ type: "events.lost", count });
}

/** An event without an id. */
function chunk(event: SessionEvent): Uint8Array {
  return write(JSON.stringify(event), event.type);
}

/** The event that was read last of each log: many clients read it at the same time. */
const latest = new WeakMap<EventLog, { readonly event: LoggedEvent; readonly chunk: Uint8Array }>();

function chunkOf(event: LoggedEvent, { log, isCaller, epoch }: EventStreamOptions): Uint8Array {
  const { type, data, callerData, number } = event;
  const id = `${epoch}-${number}`;
  if (isCaller && callerData !== undefined) return write(callerData, type, id);
  const known = latest.get(log);
  if (known?.event === event) return known.chunk;
  const chunk = write(data, type, id);
  latest.set(log, { event, chunk });
  return chunk;
}

/** @param data JSON text, which has no line breaks. */
function write(data: string, type: string, id?: string): Uint8Array {
  return Buffer.from(`${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`);
}

/**
 * Returns the number in the header `last-event-id`; `undefined` without one, and -1 if it is of another process.
 */
export function lastEventNumber(header: string | undefined, epoch: string): number | undefined {
  if (header === undefined || header === "") return undefined;
  const [, of, number] = /^([\w]+)-([0-9]{1,15})$/.exec(header) ?? [];
  return of === epoch ? Number(number) : -1;
}

/** Maximum number of streams of events: fewer than the connections of a server. */
const MAX_STREAMS = 8_000;

/** Maximum number of streams of one client. */
const MAX_OWN_STREAMS = 2_000;

/** The streams that each client can always have, even if `MAX_STREAMS` are open. */
const MIN_STREAMS = 16;

/** Maximum number of bytes of events and responses that clients have not read. */
const MAX_UNREAD_BYTES = 128 * 1_024 * 1_024;
const MIN_UNREAD_BYTES = 4 * 1_024 * 1_024;

/** What streams of events and responses may take up, by the names of clients. */
export class StreamRoom {
  readonly streams: FairBudget = new FairBudget(MAX_STREAMS, MIN_STREAMS, MAX_OWN_STREAMS);
  readonly unread: FairBudget = new FairBudget(MAX_UNREAD_BYTES, MIN_UNREAD_BYTES, MAX_UNREAD_BYTES / 2);
}

/** The headers of a stream of events. Proxies must not buffer events. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": STREAM_MEDIA_TYPE,
  "cache-control": "no-store",
  "x-accel-buffering": "no",
});
