/** A call that waits for its turn. */
interface Ticket {
  readonly session: string;
  start(): void;
  refuse(): void;
}

/**
 * How many calls run at once and how many wait. Sessions take turns, so that one with many calls does not keep the
 * others waiting; and when the queue is full, the session with the most waiting calls loses its last one to a
 * session with fewer.
 */
export class Admission {
  readonly #maxInFlight: number;
  readonly #maxQueued: number;
  /** The sessions in the order of their turns; none without a ticket. */
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
   * Lets a call start, at once or when its turn comes; each that started ends with {@link release}.
   *
   * @param refuse Called instead of `start`, when its place in the queue is lost.
   * @returns `"refused"` when there is no place for it; otherwise a function that takes it out of the queue, and
   *   tells whether it was still there.
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

  /** Ends a call that started, and starts the next. */
  release(): void {
    const next = this.#next();
    if (next === undefined) this.#inFlight--;
    else next.start();
  }

  /** Refuses all that wait. */
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
    // Whoever had a turn is the last to have the next one.
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

  /** Takes the last place of the longest queue, if that is longer than the session's own would be. */
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
