/** A queued call. */
export interface Ticket {
  readonly caller: string;
  readonly session: string;
  /** The id of the caller's principal, for metrics. Default: it is not known. */
  readonly principal?: string | undefined;
  start(): void;
  refuse(): void;
}

/** The queued calls of one caller. Its sessions take turns. */
export class CallerQueue {
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
