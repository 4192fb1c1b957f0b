import {
  compareEnds,
  type LedgerRecord,
  type LedgerState,
  type LedgerTable,
} from "../../sessions/ledger/ledger-table.ts";
import type { KeptLedger } from "../objects/ledger-handlers.ts";
import type { ObjectAddress } from "../objects/object-keys.ts";
import type { StoreClient } from "./store-client.ts";

/** Keeps the calls of ledgers on Restate. */
export class RestateLedgerTable implements LedgerTable {
  readonly #client: StoreClient;
  readonly #object: ObjectAddress;

  constructor(client: StoreClient, object: ObjectAddress) {
    this.#client = client;
    this.#object = object;
  }

  putEntry(entry: LedgerRecord): Promise<void> {
    return this.#client.write(this.#object, "put", entry);
  }

  removeEntry(id: string): Promise<void> {
    return this.#client.write(this.#object, "remove", id);
  }

  dropEntry(id: string, endedAt: number): Promise<void> {
    return this.#client.write(this.#object, "drop", { id, endedAt });
  }

  resetLedger(missingUntil: number | undefined): Promise<void> {
    return this.#client.write(this.#object, "reset", { missingUntil: missingUntil ?? null });
  }

  async ledgerState(): Promise<LedgerState> {
    const { entries, missingUntil } = await this.#client.read<KeptLedger>(this.#object, "read");
    const sorted = [...entries].sort(compareEnds);
    return { entries: sorted, missingUntil: missingUntil ?? undefined };
  }
}
