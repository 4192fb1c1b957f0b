import { FairBudget } from "../../base/fair-budget.ts";

/** Bytes of what clients have not read, and how many of them each caller can have even if others have all. */
const UNREAD = { all: 256 * 1_024 * 1_024, each: 16 * 1_024 * 1_024 };

/** Returns a budget for what clients have not read: responses, streams and frames. */
export function openUnreadBudget(): FairBudget {
  return new FairBudget(UNREAD.all, UNREAD.each);
}

/** What waits on one connection, or for one response, because its client has not read it. */
export class UnreadAnswers {
  readonly #budget: FairBudget;
  readonly #caller: string;
  #bytes = 0;

  constructor(budget: FairBudget, caller: string) {
    this.#budget = budget;
    this.#caller = caller;
  }

  /** Says how many bytes wait now. Returns `false` if there is no room for more of them: nothing is charged for these then. */
  settle(bytes: number): boolean {
    const more = bytes - this.#bytes;
    if (more === 0) return true;
    if (more < 0) this.#budget.giveBack(this.#caller, -more);
    else if (!this.#budget.take(this.#caller, more)) return false;
    this.#bytes = bytes;
    return true;
  }
}
