import { FairBudget } from "../base/fair-budget.ts";

/** The most unread bytes of all clients, and how many each caller may always have, even if the total is exhausted. */
const UNREAD = { all: 256 * 1_024 * 1_024, each: 16 * 1_024 * 1_024 };

/** Returns a budget for responses, streams and frames that clients have not read. */
export function openUnreadBudget(): FairBudget {
  return new FairBudget(UNREAD.all, UNREAD.each);
}

/** The bytes of one connection or response that its client has not read. */
export class UnreadAnswers {
  readonly #budget: FairBudget;
  readonly #caller: string;
  #bytes = 0;

  constructor(budget: FairBudget, caller: string) {
    this.#budget = budget;
    this.#caller = caller;
  }

  /** Sets how many bytes wait now. Returns `false`, and charges nothing more, if the budget is exhausted. */
  settle(bytes: number): boolean {
    const more = bytes - this.#bytes;
    if (more === 0) return true;
    if (more < 0) this.#budget.release(this.#caller, -more);
    else if (!this.#budget.acquire(this.#caller, more)) return false;
    this.#bytes = bytes;
    return true;
  }
}
