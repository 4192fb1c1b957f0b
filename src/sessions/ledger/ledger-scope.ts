import { Ledger } from "./ledger.ts";
import type { Ledgers } from "./ledgers.ts";

/** The ledger of a turn or a session, which is made when a policy first needs it. */
export class LedgerScope {
  /** Those of all sessions. */
  readonly ledgers: Ledgers;
  #ledger: Ledger | undefined;
  readonly #open: (() => Ledger) | undefined;
  #isMissing = false;

  /** @param open Returns a ledger with earlier calls. Default: there were none. */
  constructor(ledgers: Ledgers, open?: () => Ledger) {
    this.ledgers = ledgers;
    this.#open = open;
  }

  /** Says that a call was not entered, because no policy used the history. */
  miss(): void {
    this.#isMissing = true;
  }

  get ledger(): Ledger {
    this.#ledger ??= this.#open?.() ?? new Ledger(this.ledgers.maxEntries);
    if (this.#isMissing) this.#ledger.missUntil(this.ledgers.now());
    this.#isMissing = false;
    return this.#ledger;
  }
}
