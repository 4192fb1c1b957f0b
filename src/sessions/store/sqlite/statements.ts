import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

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
