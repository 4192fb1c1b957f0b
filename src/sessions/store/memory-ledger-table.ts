import {
  compareEnds,
  type LedgerRecord,
  type LedgerState,
  type LedgerTable,
} from "../ledger/ledger-table.ts";

/** Keeps the calls of ledgers in the memory of this process. */
export class MemoryLedgerTable implements LedgerTable {
  readonly #entries = new Map<string, LedgerRecord>();
  #missingUntil: number | undefined = 0;

  putEntry(entry: LedgerRecord): void {
    this.#entries.set(entry.id, entry);
  }

  removeEntry(id: string): void {
    this.#entries.delete(id);
  }

  dropEntry(id: string, endedAt: number): void {
    this.#entries.delete(id);
    if (this.#missingUntil !== undefined) this.#missingUntil = Math.max(this.#missingUntil, endedAt);
  }

  resetLedger(missingUntil: number | undefined): void {
    this.#entries.clear();
    this.#missingUntil = missingUntil;
  }

  ledgerState(): LedgerState {
    const entries = [...this.#entries.values()].sort(compareEnds);
    return { entries, missingUntil: this.#missingUntil };
  }
}
