import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { OpenDatabasePlace } from "../../../base/open-file-place.ts";
import type { MaybePromise } from "../../../base/promises.ts";
import { SessionStoreError } from "../../session-errors.ts";
import type { LedgerRecord, LedgerState, LedgerTable } from "../store.ts";

/** A row as SQLite returns it. */
export type Row = Record<string, SQLInputValue>;

/** Runs statements on a database. Each is prepared once. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Returns whether the statement changed a row. */
  change(sql: string, values: readonly SQLInputValue[]): boolean {
    return this.#prepare(sql).run(...values).changes !== 0;
  }

  row(sql: string, values: readonly SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  rows(sql: string, values: readonly SQLInputValue[] = []): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

const PROBE_MS = 1_000;

/** What was written in one turn of the event loop, and is committed together. */
interface Group {
  readonly committed: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: SessionStoreError) => void;
}

/**
 * Commits what is written in one turn of the event loop with one sync of the disk, which takes most of the time of a
 * write. A write takes effect at once for what is read later; its promise resolves when it is durable.
 */
export class GroupedCommits {
  readonly #database: DatabaseSync;
  readonly #place: Pick<OpenDatabasePlace, "problem">;
  #group: Group | undefined;
  #problem: string | undefined;
  #probe: NodeJS.Timeout | undefined;

  /** @param place Nothing is committed if what is written there would be lost. */
  constructor(database: DatabaseSync, place: Pick<OpenDatabasePlace, "problem">) {
    this.#database = database;
    this.#place = place;
  }

  /**
   * Why the disk does not take what is written, or it would be lost; `undefined` if it does. It is tried again each second.
   */
  get problem(): string | undefined {
    return this.#problem ?? this.#place.problem;
  }

  /** Runs statements that write. Either all of them take effect or none, and then the promise rejects. */
  async write<T>(statements: () => T): Promise<T> {
    const group = this.#group ?? this.#begin();
    const result = this.#attempt(() => {
      this.#checkTransaction();
      this.#database.exec("SAVEPOINT write");
      try {
        return statements();
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK TO write");
        throw error;
      } finally {
        if (this.#database.isTransaction) this.#database.exec("RELEASE write");
      }
    });
    await group.committed;
    return result;
  }

  /** Commits what was written, and tries nothing later. */
  close(): void {
    this.flush();
    clearTimeout(this.#probe);
  }

  /** Runs statements that read. The result has nothing that could still be lost. */
  read<T>(statements: () => T): MaybePromise<T> {
    const result = this.#attempt(statements);
    return this.#group === undefined ? result : this.#group.committed.then(() => result);
  }

  /** Commits what was written. */
  flush(): void {
    const group = this.#group;
    if (group === undefined) return;
    this.#group = undefined;
    try {
      this.#attempt(() => {
        this.#checkTransaction();
        this.#checkPlace();
        this.#database.exec("COMMIT");
      });
      this.#problem = undefined;
      group.resolve();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      group.reject(error as SessionStoreError);
    }
  }

  #begin(): Group {
    this.#attempt(() => this.#database.exec("BEGIN IMMEDIATE"));
    const { promise: committed, resolve, reject } = Promise.withResolvers<void>();
    // Each write reports the failure itself.
    committed.catch(() => {});
    this.#group = { committed, resolve, reject };
    setImmediate(() => this.flush());
    return this.#group;
  }

  /** SQLite rolls the whole transaction back if the disk is full or fails: later statements must not stand alone. */
  #checkTransaction(): void {
    if (!this.#database.isTransaction) throw new Error("an earlier write of the same commit failed");
  }

  #checkPlace(): void {
    const { problem } = this.#place;
    if (problem === undefined) return;
    this.#fail(problem);
    throw new SessionStoreError(`the session store failed: ${problem}`);
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (error instanceof SessionStoreError) throw error;
      if (isOfDisk(error)) this.#fail(readableError(error));
      throw new SessionStoreError(`the session store failed: ${readableError(error)}`, { cause: error });
    }
  }

  #fail(problem: string): void {
    this.#problem = problem;
    this.#probe ??= setTimeout(() => {
      this.#probe = undefined;
      if (this.#problem === undefined || !this.#database.isOpen) return;
      // It writes a page, although it changes nothing. Its failure comes back here.
      this.write(() => this.#database.exec(`PRAGMA user_version = ${this.#version()}`)).catch(() => {});
    }, PROBE_MS).unref();
  }

  #version(): number {
    return this.#database.prepare("PRAGMA user_version").get()?.["user_version"] as number;
  }
}

/** Primary result codes of SQLite. */
const REASONS = new Map([
  [5, "another process or store has it open"],
  [6, "another process or store has it open"],
  [8, "it cannot be written"],
  [11, "the file is corrupt"],
  [13, "the disk is full"],
  [26, "the file is not a database"],
]);

/** Primary result codes of SQLite for errors of a statement, such as a violated constraint, and not of the file. */
const OF_STATEMENTS: readonly number[] = [1, 18, 19, 20, 21, 25];

/** Whether an error is one of the disk or of the file, so that other statements would fail as well. */
export function isOfDisk(error: unknown): boolean {
  const code = primaryCode(error);
  return code !== undefined && !OF_STATEMENTS.includes(code);
}

function primaryCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: unknown };
  // The low byte is the primary result code.
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Describes an error of SQLite or of the file system, for operators. */
export function readableError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SessionStoreError) return error.message;
  return REASONS.get(primaryCode(error) ?? 0) ?? error.message;
}

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
