import { RemoteProblem } from "../../remote-protocol/problems.ts";

/** A queued call. */
interface Ticket {
  readonly session: string;
  start(): void;
  refuse(): void;
}

/**
 * Bounds the numbers of running and queued calls. Sessions take turns, so one with many calls does not delay
 * the others. If the queue is full, the session with the most queued calls loses its last one to a session
 * with fewer.
 */
export class Admission {
  readonly #maxInFlight: number;
  readonly #maxQueued: number;
  /** The queued calls by session, in the order of the sessions' turns. No session has an empty list. */
  readonly #waiting = new Map<string, Ticket[]>();
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

  /**
   * Starts a call, at once or in its turn. {@link release} must be called when a started call ends.
   *
   * @param refuse Called instead of `start` if the call loses its place in the queue.
   * @returns `"refused"` if the queue is full; otherwise a function that removes the call from the queue, and
   *   returns whether it was queued.
   */
  enter(session: string, start: () => void, refuse: () => void): "refused" | (() => boolean) {
    if (this.#inFlight < this.#maxInFlight) {
      this.#inFlight++;
      start();
      return notQueued;
    }
    const ticket = { session, start, refuse };
    if (this.#queued >= this.#maxQueued && !this.#makeRoom(session)) return "refused";
    const own = this.#waiting.get(session);
    if (own === undefined) this.#waiting.set(session, [ticket]);
    else own.push(ticket);
    this.#queued++;
    return () => this.#remove(ticket);
  }

  /** Ends a started call, and starts the next one. */
  release(): void {
    const next = this.#next();
    if (next === undefined) this.#inFlight--;
    else next.start();
  }

  /** Refuses all queued calls. */
  refuseQueued(): void {
    const tickets = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#queued = 0;
    for (const ticket of tickets) ticket.refuse();
  }

  #next(): Ticket | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [session, tickets] = first;
    const ticket = tickets.shift();
    this.#queued--;
    // The session goes to the end of the order.
    this.#waiting.delete(session);
    if (tickets.length > 0) this.#waiting.set(session, tickets);
    return ticket;
  }

  #remove(ticket: Ticket): boolean {
    const tickets = this.#waiting.get(ticket.session);
    const index = tickets?.indexOf(ticket) ?? -1;
    if (tickets === undefined || index < 0) return false;
    tickets.splice(index, 1);
    if (tickets.length === 0) this.#waiting.delete(ticket.session);
    this.#queued--;
    return true;
  }

  /**
   * Refuses the last call of the longest queue, if that is longer than the session's own queue would become.
   */
  #makeRoom(session: string): boolean {
    const longest = [...this.#waiting.values()].reduce(
      (a, b) => (b.length > a.length ? b : a),
      [] as Ticket[],
    );
    const own = this.#waiting.get(session)?.length ?? 0;
    const loser = longest.length > own + 1 ? longest.at(-1) : undefined;
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
export function overloaded(): RemoteProblem {
  return new RemoteProblem("overloaded", "too many calls: retry later", RETRY_AFTER_S);
}

/** The problem of a call that arrives while the executor shuts down. */
export function draining(): RemoteProblem {
  return new RemoteProblem("draining", "the executor is shutting down: call another one", RETRY_AFTER_S);
}
