import type { DatabaseSync } from "node:sqlite";
import type { OpenDatabasePlace } from "../../base/open-file-place.ts";
import { readableError } from "./open-database.ts";
import { SuspensionStoreError } from "./suspension-store.ts";

interface Waiting {
  /** Runs the statements, and returns a function that settles the write once the group is committed. */
  readonly run: () => () => void;
  readonly reject: (error: SuspensionStoreError) => void;
}

/**
 * Runs what is to be written in one turn of the event loop in one transaction: syncing the disk takes most of the time of a
 * write. The transaction begins and ends in the same turn, so that other processes hardly wait. A write that fails undoes
 * its own statements and leaves those of other callers alone.
 */
export class GroupedWrites {
  readonly #database: DatabaseSync;
  readonly #place: OpenDatabasePlace | undefined;
  #waiting: Waiting[] = [];

  /** @param place Nothing is committed if what is written there would be lost. `undefined` for a store that is read only. */
  constructor(database: DatabaseSync, place: OpenDatabasePlace | undefined) {
    this.#database = database;
    this.#place = place;
  }

  /** Resolves when everything that the statements wrote is durable. */
  write<T>(statements: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): (() => void) => {
        const result = statements();
        return () => resolve(result);
      };
      if (this.#waiting.push({ run, reject }) === 1) setImmediate(() => this.flush());
    });
  }

  /** Writes what waits. */
  flush(): void {
    const group = this.#waiting;
    if (group.length === 0) return;
    this.#waiting = [];
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      const settle = group.map((each) => this.#attempt(each));
      const problem = this.#place?.problem;
      if (problem !== undefined) throw new Error(problem);
      this.#database.exec("COMMIT");
      for (const each of settle) each();
    } catch (error) {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("ROLLBACK");
      const failure = toFailure(error);
      for (const { reject } of group) reject(failure);
    }
  }

  /**
   * Runs the statements of one caller.
   *
   * @throws {Error} if SQLite rolled the whole transaction back, as it does if the disk is full.
   */
  #attempt({ run, reject }: Waiting): () => void {
    this.#database.exec("SAVEPOINT write");
    try {
      const settle = run();
      this.#database.exec("RELEASE write");
      return settle;
    } catch (error) {
      if (!this.#database.isTransaction) throw error;
      this.#database.exec("ROLLBACK TO write; RELEASE write");
      return () => reject(toFailure(error));
    }
  }
}

function toFailure(error: unknown): SuspensionStoreError {
  return new SuspensionStoreError(`the store of programs failed: ${readableError(error)}`, { cause: error });
}
