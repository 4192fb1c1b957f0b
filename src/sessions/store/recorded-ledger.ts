import type { MaybePromise } from "../../base/promises.ts";
import type { Key } from "../../record/backend.ts";
import { inOrder, type Operations } from "../../record/operations.ts";
import { compareEnds, type LedgerRecord, type LedgerState, type LedgerTable } from "./store.ts";

/** The table and owner of ledgers: batches that concern them are applied one after the other. */
const LEDGER = ["ledger", "all"] as const;
const MISSING: Key = ["missing", "all"];

/** Stores the calls of ledgers over a backend. */
export class RecordedLedgerTable implements LedgerTable {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  putEntry(entry: LedgerRecord): MaybePromise<void> {
    return this.#operations.apply({ key: [...LEDGER, entry.id], value: entry });
  }

  removeEntry(id: string): MaybePromise<void> {
    return this.#operations.apply({ key: [...LEDGER, id], remove: true });
  }

  dropEntry(id: string, endedAt: number): MaybePromise<void> {
    return this.#operations.writeInOrder("ledger", function* (transaction) {
      transaction.remove([...LEDGER, id]);
      const missing = yield* transaction.get<number | null>(MISSING);
      // It stays unknown (null) if it was.
      if (missing !== null) transaction.put(MISSING, Math.max(missing ?? 0, endedAt));
    });
  }

  resetLedger(missingUntil: number | undefined): MaybePromise<void> {
    return this.#operations.apply(
      { below: LEDGER, remove: true },
      { key: MISSING, value: missingUntil ?? null },
    );
  }

  ledgerState(): MaybePromise<LedgerState> {
    return this.#operations.read([{ below: LEDGER }, { key: MISSING }], (found = [], [missing] = []) => ({
      entries: [...inOrder<LedgerRecord>(found)].sort(compareEnds),
      missingUntil: missing === undefined ? 0 : (missing.value ?? undefined),
    }));
  }
}
