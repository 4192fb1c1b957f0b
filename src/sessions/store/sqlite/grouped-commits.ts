import type { DatabaseSync } from "node:sqlite";
import type { MaybePromise } from "../../../base/promises.ts";
import { SessionStoreError } from "../session-store-error.ts";
import { readableError } from "./readable-error.ts";

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
  #group: Group | undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
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
        this.#database.exec("COMMIT");
      });
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

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (error instanceof SessionStoreError) throw error;
      throw new SessionStoreError(`the session store failed: ${readableError(error)}`, { cause: error });
    }
  }
}
