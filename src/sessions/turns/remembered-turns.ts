import type { Turn } from "./turn.ts";

/** The turns that a session remembers: older ones are forgotten, with their messages. */
const MAX_TURNS = 1_000;

/** The latest turns of a session, in the order in which they began. */
export class RememberedTurns {
  /** `undefined` until the first. The value of a turn of an earlier process is `undefined` until it is needed. */
  #turns: Map<string, Turn | undefined> | undefined;

  /** @param earlier The ids of the turns of earlier processes. */
  constructor(earlier: readonly string[]) {
    if (earlier.length > 0) this.#turns = new Map(earlier.map((id) => [id, undefined]));
  }

  get isEmpty(): boolean {
    return this.#turns === undefined || this.#turns.size === 0;
  }

  /** Whether the session has a turn with this id. */
  has(id: string): boolean {
    return this.#turns?.has(id) === true;
  }

  /** Returns a turn; `undefined` if it does not exist, or was not used since this process began. */
  get(id: string): Turn | undefined {
    return this.#turns?.get(id);
  }

  /**
   * Adds a turn.
   *
   * @param isActive Whether a turn must not be forgotten, since something of it is under way.
   * @returns the id of the turn that is forgotten in its place; `undefined` if none is.
   */
  add(turn: Turn, isActive: (turn: Turn) => boolean): string | undefined {
    this.#turns ??= new Map();
    const isFull = this.#turns.size >= MAX_TURNS && !this.#turns.has(turn.id);
    const forgotten = isFull ? this.#oldestIdle(this.#turns, isActive) : undefined;
    if (forgotten !== undefined) this.#turns.delete(forgotten);
    this.#turns.set(turn.id, turn);
    return forgotten;
  }

  delete(id: string): void {
    this.#turns?.delete(id);
  }

  #oldestIdle(
    turns: ReadonlyMap<string, Turn | undefined>,
    isActive: (turn: Turn) => boolean,
  ): string | undefined {
    for (const [id, turn] of turns) if (turn === undefined || !isActive(turn)) return id;
    return undefined;
  }
}
