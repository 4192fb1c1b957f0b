import { describeThrown } from "../../base/thrown.ts";
import type { KeptEntry } from "./entry.ts";
import type { LedgerRecord, LedgerTable } from "./ledger-table.ts";

/**
 * The entries in a store. What is written after a call has run can fail: the process is warned, and the call counts in the
 * next process as if it was under way when this one ended.
 */
export class KeptEntries {
  readonly #table: LedgerTable | undefined;

  /** @param table `undefined` if calls are not kept. */
  constructor(table: LedgerTable | undefined) {
    this.#table = table;
  }

  /** Adds a call that is about to run. Returns a promise only if there is something to wait for. */
  add(entry: KeptEntry): Promise<void> | undefined {
    if (this.#table === undefined) return undefined;
    entry.isKept = true;
    const added = this.#table.putEntry(recordOf(entry));
    return added instanceof Promise ? added : undefined;
  }

  end(entry: KeptEntry): void {
    if (entry.isKept) this.#write((table) => table.putEntry(recordOf(entry)));
  }

  remove({ id, isKept }: KeptEntry): void {
    if (isKept) this.#write((table) => table.removeEntry(id));
  }

  drop({ id, endedAt = 0 }: KeptEntry): void {
    this.#write((table) => table.dropEntry(id, endedAt));
  }

  reset(missingUntil: number | undefined): void {
    this.#write((table) => table.resetLedger(missingUntil));
  }

  #write(write: (table: LedgerTable) => unknown): void {
    if (this.#table !== undefined) void attempt(write, this.#table);
  }
}

async function attempt(write: (table: LedgerTable) => unknown, table: LedgerTable): Promise<void> {
  try {
    await write(table);
  } catch (thrown) {
    process.emitWarning(`The store of sessions failed: ${describeThrown(thrown).message}`, {
      code: "SANDGATE_SESSION_STORE_FAILED",
    });
  }
}

function recordOf(entry: KeptEntry): LedgerRecord {
  const { id, sessionId, turnId, principal, tool, numbers, isApproved, isDone, endedAt } = entry;
  return {
    ...{ id, sessionId, turnId, tool, numbers: [...numbers], isApproved, isDone },
    ...(principal !== undefined && { principal }),
    ...(endedAt !== undefined && { endedAt }),
  };
}
