import { type RequestRefusal, remoteProblem } from "../../remote-protocol/problems.ts";

/** A queued call. */
interface Ticket {
  readonly caller: string;
  readonly session: string;
  /** The id of the caller's principal, for metrics. Default: it is not known. */
  readonly principal?: string | undefined;
  start(): void;
  refuse(): void;
}

/** The queued calls of one caller. Its sessions take turns. */
class CallerQueue {
  /** By session, in the order of the sessions' turns. No session has an empty list. */
  readonly #sessions = new Map<string, Ticket[]>();
  #size = 0;

  /** The number of calls. */
  get size(): number {
    return this.#size;
  }

  /** The first call of the session whose turn it is. */
  get first(): Ticket | undefined {
    const [tickets] = this.#sessions.values();
    return tickets?.[0];
  }

  get tickets(): readonly Ticket[] {
    return [...this.#sessions.values()].flat();
  }

  add(ticket: Ticket): void {
    const tickets = this.#sessions.get(ticket.session);
    if (tickets === undefined) this.#sessions.set(ticket.session, [ticket]);
    else tickets.push(ticket);
    this.#size++;
  }

  /** Removes and returns the next call. */
  next(): Ticket | undefined {
    const [first] = this.#sessions;
    if (first === undefined) return undefined;
    const [session, tickets] = first;
    const ticket = tickets.shift();
    this.#size--;
    // The session goes to the end of the order.
    this.#sessions.delete(session);
    if (tickets.length > 0) this.#sessions.set(session, tickets);
    return ticket;
  }

  /** Removes a call; returns `false` if it is not queued here. */
  remove(ticket: Ticket): boolean {
    const tickets = this.#sessions.get(ticket.session);
    const index = tickets?.indexOf(ticket) ?? -1;
    if (tickets === undefined || index < 0) return false;
    tickets.splice(index, 1);
    if (tickets.length === 0) this.#sessions.delete(ticket.session);
    this.#size--;
    return true;
  }

  /**
   * Returns the last call of the session with the most calls.
   *
   * @param session If given, the result is `undefined` unless that session has fewer calls than this one would be left
   *   with.
   */
  lastOfLongest(session?: string): Ticket | undefined {
    let longest: readonly Ticket[] = [];
    for (const tickets of this.#sessions.values()) if (tickets.length >= longest.length) longest = tickets;
    const own = session === undefined ? -1 : (this.#sessions.get(session)?.length ?? 0);
    return longest.length > own + 1 ? longest.at(-1) : undefined;
  }
}

/** A call that asks for admission. */
export type Applicant = Pick<Ticket, "caller" | "session" | "principal">;

/** One caller's calls. */
interface Caller {
  readonly queue: CallerQueue;
  running: number;
}

/**
 * Bounds the numbers of running and queued calls, and shares them between callers, and between the sessions of a
 * caller. A free slot goes to the waiting caller with the fewest running calls; its sessions take turns. If the queue
 * is full, the caller with the most queued calls loses the last one of its longest session to a caller with fewer, or
 * to a session of its own with fewer.
 */
export class Admission {
  readonly #maxInFlight: number;
  readonly #maxQueued: number;
  /** Callers with calls, in the order in which they last had a turn. */
  readonly #callers = new Map<string, Caller>();
  #inFlight = 0;
  #queued = 0;

  constructor(maxInFlight: number, maxQueued: number) {
    this.#maxInFlight = maxInFlight;
    this.#maxQueued = maxQueued;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#queued;
  }

  /** The number of queued calls, by the ids of their principals; empty for callers that are not known. */
  get queuedByPrincipal(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { queue } of this.#callers.values()) {
      const { principal = "" } = queue.first ?? {};
      if (queue.size > 0) counts.set(principal, (counts.get(principal) ?? 0) + queue.size);
    }
    return counts;
  }

  /**
   * Starts a call, at once or in its turn. {@link release} must be called when a started call ends.
   *
   * @param refuse Called instead of `start` if the call loses its place in the queue.
   * @returns `"refused"` if the queue is full; otherwise a function that removes the call from the queue, and
   *   returns whether it was queued.
   */
  enter(
    { caller, session, principal }: Applicant,
    start: () => void,
    refuse: () => void,
  ): "refused" | (() => boolean) {
    if (this.#inFlight < this.#maxInFlight) {
      this.#inFlight++;
      this.#of(caller).running++;
      start();
      return notQueued;
    }
    if (this.#queued >= this.#maxQueued && !this.#makeRoom(caller, session)) return "refused";
    const ticket = { caller, session, principal, start, refuse };
    this.#of(caller).queue.add(ticket);
    this.#queued++;
    return () => this.#remove(ticket);
  }

  /** Ends a started call of a caller, and starts the next one. */
  release(caller: string): void {
    const ended = this.#of(caller);
    ended.running--;
    this.#forgetIfIdle(caller, ended);
    const next = this.#next();
    if (next === undefined) this.#inFlight--;
    else next.start();
  }

  /** Refuses all queued calls. */
  refuseQueued(): void {
    const tickets = Array.from(this.#callers.values(), ({ queue }) => queue.tickets).flat();
    for (const ticket of tickets) {
      if (this.#remove(ticket)) ticket.refuse();
    }
  }

  #of(name: string): Caller {
    let caller = this.#callers.get(name);
    if (caller === undefined) {
      caller = { queue: new CallerQueue(), running: 0 };
      this.#callers.set(name, caller);
    }
    return caller;
  }

  #forgetIfIdle(name: string, { running, queue }: Caller): void {
    if (running === 0 && queue.size === 0) this.#callers.delete(name);
  }

  #next(): Ticket | undefined {
    let best: [name: string, caller: Caller] | undefined;
    for (const entry of this.#callers) {
      const [, { queue, running }] = entry;
      if (queue.size > 0 && (best === undefined || running < best[1].running)) best = entry;
    }
    if (best === undefined) return undefined;
    const [name, caller] = best;
    const ticket = caller.queue.next();
    this.#queued--;
    caller.running++;
    // The caller goes to the end of the order.
    this.#callers.delete(name);
    this.#callers.set(name, caller);
    return ticket;
  }

  #remove(ticket: Ticket): boolean {
    const caller = this.#callers.get(ticket.caller);
    if (caller?.queue.remove(ticket) !== true) return false;
    this.#queued--;
    this.#forgetIfIdle(ticket.caller, caller);
    return true;
  }

  #makeRoom(name: string, session: string): boolean {
    const own = this.#callers.get(name)?.queue;
    let longest: CallerQueue | undefined;
    for (const { queue } of this.#callers.values()) {
      if (queue.size > (longest?.size ?? 0)) longest = queue;
    }
    const isOthers = longest !== undefined && longest.size > (own?.size ?? 0) + 1;
    const loser = isOthers ? longest?.lastOfLongest() : own?.lastOfLongest(session);
    if (loser === undefined || !this.#remove(loser)) return false;
    loser.refuse();
    return true;
  }
}

function notQueued(): boolean {
  return false;
}

/** Seconds after which a client may retry a call that was refused because of the load. */
const RETRY_AFTER_S = 1;

/** The problem of a call that does not fit in the queue. */
export function overloaded(): RequestRefusal {
  return remoteProblem("overloaded", "too many calls: retry later", RETRY_AFTER_S);
}

/** The problem of a call that arrives while the executor shuts down. */
export function draining(): RequestRefusal {
  return remoteProblem("draining", "the executor is shutting down: call another one", RETRY_AFTER_S);
}
