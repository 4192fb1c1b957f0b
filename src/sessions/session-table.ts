import type { Session } from "./session.ts";
import { SessionExistsError, TooManySessionsError } from "./session-errors.ts";

/** Maximum number of open sessions of one principal; those without a principal share this number. */
const MAX_SESSIONS = 1_000;

/** The open sessions of a process, and how many each principal has. */
export class SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #countByPrincipal = new Map<string | undefined, number>();

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** In the order in which they were opened. */
  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  /**
   * Reserves a session of a principal.
   *
   * @throws {SessionExistsError} if the id is in use, and {@link TooManySessionsError} if the principal has
   *   too many.
   */
  reserve(id: string, principal: string | undefined): void {
    if (this.#sessions.has(id)) throw new SessionExistsError(`the session '${id}' exists`);
    const count = this.#countByPrincipal.get(principal) ?? 0;
    if (count >= MAX_SESSIONS)
      throw new TooManySessionsError(`a principal can have ${MAX_SESSIONS} open sessions`);
    this.#countByPrincipal.set(principal, count + 1);
  }

  /** Adds a session that was reserved. */
  add(session: Session): void {
    this.#sessions.set(session.id, session);
  }

  /** Adds a session of the store, of which a principal may have more than it could open. */
  restore(session: Session): void {
    const principal = session.principal?.id;
    this.#sessions.set(session.id, session);
    this.#countByPrincipal.set(principal, (this.#countByPrincipal.get(principal) ?? 0) + 1);
  }

  remove(id: string): void {
    this.#sessions.delete(id);
  }

  /** Releases a reserved session of a principal. */
  release(principal: string | undefined): void {
    const left = (this.#countByPrincipal.get(principal) ?? 1) - 1;
    if (left === 0) this.#countByPrincipal.delete(principal);
    else this.#countByPrincipal.set(principal, left);
  }
}
