import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MaybePromise } from "../../../base/promises.ts";
import { SessionStoreError } from "../../session-errors.ts";
import type { LedgerRecord, LedgerState, LedgerTable } from "../store.ts";
import type { GroupedCommits } from "./statements.ts";

/** Stores the calls of ledgers in the file of a session store. */
export class SqliteLedgerTable implements LedgerTable {
  readonly #commits: GroupedCommits;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #clear: StatementSync;
  readonly #extendMissing: StatementSync;
  readonly #setMissing: StatementSync;
  readonly #entries: StatementSync;
  readonly #missingUntil: StatementSync;

  constructor(database: DatabaseSync, commits: GroupedCommits) {
    this.#commits = commits;
    this.#put = database.prepare(
      `INSERT INTO ledger (id, ended, record) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET ended = excluded.ended, record = excluded.record`,
    );
    this.#remove = database.prepare("DELETE FROM ledger WHERE id = ?");
    this.#clear = database.prepare("DELETE FROM ledger");
    this.#extendMissing = database.prepare("UPDATE ledger_state SET missing = max(missing, ?)");
    this.#setMissing = database.prepare("UPDATE ledger_state SET missing = ?");
    this.#entries = database.prepare("SELECT record FROM ledger ORDER BY ended IS NULL, ended, place");
    this.#missingUntil = database.prepare("SELECT missing FROM ledger_state");
  }

  async putEntry(entry: LedgerRecord): Promise<void> {
    const { id, endedAt = null } = entry;
    await this.#commits.write(() => this.#put.run(id, endedAt, JSON.stringify(entry)));
  }

  async removeEntry(id: string): Promise<void> {
    await this.#commits.write(() => this.#remove.run(id));
  }

  async dropEntry(id: string, endedAt: number): Promise<void> {
    await this.#commits.write(() => {
      this.#remove.run(id);
      // It stays unknown (NULL) if it was.
      this.#extendMissing.run(endedAt);
    });
  }

  async resetLedger(missingUntil: number | undefined): Promise<void> {
    await this.#commits.write(() => {
      this.#clear.run();
      this.#setMissing.run(missingUntil ?? null);
    });
  }

  ledgerState(): MaybePromise<LedgerState> {
    return this.#commits.read(() => {
      const missing = this.#missingUntil.get()?.["missing"];
      return {
        entries: this.#entries.all().map(({ record }) => readRecord(record)),
        missingUntil: typeof missing === "number" ? missing : undefined,
      };
    });
  }
}

function readRecord(text: unknown): LedgerRecord {
  try {
    return JSON.parse(text as string) as LedgerRecord;
  } catch (error) {
    throw new SessionStoreError("the session store has a record that is not JSON", { cause: error });
  }
}
