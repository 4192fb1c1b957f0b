import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { OpenDatabasePlace } from "../base/open-file-place.ts";
import type { MaybePromise } from "../base/promises.ts";
import {
  type Backend,
  type Batch,
  type Bounds,
  boundsOf,
  type Entry,
  keyText,
  type Put,
  type Range,
  RecordError,
  type Write,
} from "./backend.ts";
import {
  isOfDisk,
  openSqlite,
  RecentEntries,
  SqliteEntry,
  type SqliteKind,
  sqliteErrorText,
  sqliteValue,
} from "./sqlite-file.ts";

const PROBE_MS = 1_000;
/** How many versions are reserved at once where no other process needs any. */
const RESERVED = 10_000;
/** Milliseconds between checks for changes by other processes, while there are listeners. */
const WATCH_MS = 100;

const GET = "SELECT value, version, created FROM record WHERE key = ?";
const LIST = "SELECT value, version, created FROM record WHERE key >= ? AND key < ? ORDER BY key";
const SUM =
  "SELECT count(*) AS count, coalesce(max(version), 0) AS version FROM record WHERE key >= ? AND key < ?";
/** Statements that put one entry, two, and so on. */
const PUTS = Array.from(
  { length: 8 },
  (
    _,
    index,
  ) => `INSERT INTO record (key, version, created, value) VALUES (?, ?, ?, ?)${", (?, ?, ?, ?)".repeat(index)}
  ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value`,
);
const REMOVE = "DELETE FROM record WHERE key >= ? AND key < ?";
const RESERVE = "UPDATE counter SET version = max(version, ?) + ? RETURNING version";

/** The writes that are committed together. */
interface Group {
  readonly committed: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: RecordError) => void;
  /** What has not been written to the database yet, since other processes would have to wait for the rest of this turn. */
  readonly waiting: { readonly batch: Batch; readonly settle: (run: () => number | undefined) => void }[];
  readonly changed: Bounds[];
}

/**
 * A store of entries in one SQLite file. What is written in one turn of the event loop is committed with one sync of the disk, which
 * takes most of the time of a write; a batch that fails undoes only its own writes. Nothing is written any more once the file, or the
 * `-wal` beside it, is removed, renamed or replaced.
 *
 * Where no other process can have the file open, a batch takes effect at once for what is read later, and reading returns no promise,
 * except for what is not durable yet.
 */
export class SqliteBackend implements Backend {
  readonly isSerial: boolean;
  readonly #database: DatabaseSync;
  /** `undefined` if nothing is written. */
  readonly #place: OpenDatabasePlace | undefined;
  readonly #prepared = new Map<string, StatementSync>();
  /** Has also what is not durable yet; `undefined` if other processes write, too. */
  readonly #recent: RecentEntries | undefined;
  readonly #listeners = new Set<readonly [bounds: Bounds, onChange: () => void]>();
  #group: Group | undefined;
  #problem: string | undefined;
  #probe: NodeJS.Timeout | undefined;
  #watching: NodeJS.Timeout | undefined;
  #seen: unknown;
  /** The latest version, and the latest of those that are reserved. */
  #version = 0;
  #reserved = 0;

  /**
   * Opens a file: see {@link openSqlite}.
   *
   * @param options.isReadOnly Default: `false`.
   * @throws {RecordError} as {@link openSqlite}.
   */
  constructor(
    file: string,
    kind: SqliteKind,
    { isReadOnly = false }: { readonly isReadOnly?: boolean } = {},
  ) {
    this.isSerial = kind.isExclusive;
    if (kind.isExclusive) this.#recent = new RecentEntries();
    this.#database = openSqlite(file, kind, isReadOnly);
    this.#place = isReadOnly ? undefined : new OpenDatabasePlace(file);
  }

  /**
   * Why the disk does not take what is written, or it would be lost; `undefined` if it does. It is tried again each second.
   */
  get problem(): string | undefined {
    return this.#problem ?? this.#place?.problem;
  }

  read(ranges: readonly Range[], isForWrite = false): MaybePromise<readonly (readonly Entry[])[]> {
    const entries = this.#attempt(() => {
      if (this.isSerial || ranges.length < 2) return ranges.map((range) => this.#entriesOf(range));
      // Another process must not write between two statements.
      this.#database.exec("BEGIN");
      try {
        return ranges.map((range) => this.#entriesOf(range));
      } finally {
        this.#prepare("COMMIT").run();
      }
    });
    if (isForWrite || !this.isSerial || this.#group === undefined) return entries;
    return this.#group.committed.then(() => entries);
  }

  #entriesOf(range: Range): readonly Entry[] {
    if ("key" in range) return this.#entryOf(keyText(range.key));
    const { from, to } = boundsOf(range);
    return this.#prepare(LIST)
      .all(from, to)
      .map((row) => new SqliteEntry(row));
  }

  #entryOf(key: string): readonly Entry[] {
    const recent = this.#recent?.get(key);
    if (recent !== undefined) return recent === "absent" ? [] : [recent];
    const row = this.#prepare(GET).get(key);
    const entry = row === undefined ? undefined : new SqliteEntry(row);
    this.#recent?.add(key, entry);
    return entry === undefined ? [] : [entry];
  }

  apply(batch: Batch): MaybePromise<number | undefined> {
    if (batch.checks.length + batch.writes.length === 0) {
      return this.isSerial ? this.#group?.committed.then(() => undefined) : undefined;
    }
    const group = this.#group ?? this.#begin();
    if (this.isSerial) {
      const failed = this.#attempt(() => this.#write(batch, group));
      return group.committed.then(() => failed);
    }
    return new Promise((resolve, reject) => {
      const settle = (run: () => number | undefined): void => {
        try {
          resolve(run());
        } catch (error) {
          reject(error);
        }
      };
      group.waiting.push({ batch, settle });
    });
  }

  #begin(): Group {
    if (this.isSerial) this.#attempt(() => this.#prepare("BEGIN IMMEDIATE").run());
    const { promise: committed, resolve, reject } = Promise.withResolvers<void>();
    // Each write reports the failure itself.
    committed.catch(() => {});
    this.#group = { committed, resolve, reject, waiting: [], changed: [] };
    setImmediate(() => this.#flush());
    return this.#group;
  }

  /** Commits what was written. */
  #flush(): void {
    const group = this.#group;
    if (group === undefined) return;
    this.#group = undefined;
    let settle: readonly (() => void)[] = [];
    try {
      this.#attempt(() => {
        if (!this.isSerial) this.#prepare("BEGIN IMMEDIATE").run();
        settle = group.waiting.map((each) => this.#writeLater(each, group));
        this.#checkTransaction();
        this.#checkPlace();
        this.#prepare("COMMIT").run();
      });
    } catch (error) {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#recent?.clear();
      // What was reserved is not stored.
      this.#reserved = this.#version;
      for (const each of group.waiting) {
        each.settle(() => {
          throw error;
        });
      }
      group.reject(error as RecordError);
      return;
    }
    this.#problem = undefined;
    for (const each of settle) each();
    group.resolve();
    this.#notify(group.changed);
  }

  /** Returns a function that settles the write once the group is committed. */
  #writeLater({ batch, settle }: Group["waiting"][number], group: Group): () => void {
    try {
      const failed = this.#write(batch, group);
      return () => settle(() => failed);
    } catch (error) {
      if (!this.#database.isTransaction) throw error;
      return () =>
        settle(() => {
          throw this.#failureOf(error);
        });
    }
  }

  /** Writes a batch within the transaction of its group: whole, or not at all. */
  #write(batch: Batch, group: Group): number | undefined {
    try {
      return this.#tryToWrite(batch, group);
    } catch (error) {
      this.#recent?.clear();
      throw error;
    }
  }

  #tryToWrite(batch: Batch, group: Group): number | undefined {
    this.#checkTransaction();
    const { checks, writes } = batch;
    const failed = checks.findIndex(({ range, count, version }) => {
      const { from, to } = boundsOf(range);
      const now = this.#prepare(SUM).get(from, to);
      return now?.["count"] !== count || now["version"] !== version;
    });
    if (failed >= 0) return failed;
    if (writes.length === 0) return undefined;
    this.#reserve(writes.length);
    if (writes.length === 1 || (writes.length <= PUTS.length && writes.every((write) => "value" in write))) {
      // A statement takes effect as a whole.
      this.#writeTogether(writes);
    } else {
      this.#prepare("SAVEPOINT batch").run();
      try {
        for (const write of writes) this.#writeTogether([write]);
        this.#prepare("RELEASE batch").run();
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK TO batch; RELEASE batch");
        throw error;
      }
    }
    if (this.#listeners.size > 0) {
      for (const write of writes)
        group.changed.push(boundsOf("key" in write ? { key: write.key } : { below: write.below }));
    }
    return undefined;
  }

  /** Runs one statement that puts all of some values, or removes something. */
  #writeTogether(writes: readonly Write[]): void {
    const [first] = writes;
    if (first !== undefined && !("value" in first)) {
      const { from, to } = boundsOf("key" in first ? { key: first.key } : { below: first.below });
      this.#prepare(REMOVE).run(from, to);
      this.#recent?.clear();
      return;
    }
    const values: SQLInputValue[] = [];
    for (const { key, value } of writes as readonly Put[]) {
      const version = ++this.#version;
      const [text, stored] = [keyText(key), sqliteValue(value)];
      values.push(text, version, version, stored);
      this.#recent?.put(text, value, version, stored.length);
    }
    this.#prepare(PUTS[writes.length - 1] as string).run(...values);
  }

  /** Reserves versions for this many entries, which no process uses again. */
  #reserve(count: number): void {
    if (this.isSerial && this.#version + count <= this.#reserved) return;
    const size = this.isSerial ? Math.max(count, RESERVED) : count;
    const reserved = this.#prepare(RESERVE).get(this.#version, size)?.["version"];
    this.#reserved = Number(reserved);
    this.#version = this.#reserved - size;
  }

  /** SQLite rolls the whole transaction back if the disk is full or fails: later statements must not stand alone. */
  #checkTransaction(): void {
    if (!this.#database.isTransaction) throw new Error("an earlier write of the same commit failed");
  }

  #checkPlace(): void {
    const problem = this.#place?.problem;
    if (problem === undefined) return;
    this.#fail(problem);
    throw new RecordError(problem);
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  #failureOf(error: unknown): RecordError {
    if (error instanceof RecordError) return error;
    const text = sqliteErrorText(error, this.isSerial);
    if (isOfDisk(error)) this.#fail(text);
    return new RecordError(text, { cause: error });
  }

  #fail(problem: string): void {
    // Others may have it open for a moment, and nobody checks for the problem.
    if (!this.isSerial) return;
    this.#problem = problem;
    this.#probe ??= setTimeout(() => {
      this.#probe = undefined;
      if (this.#problem === undefined || !this.#database.isOpen) return;
      // The next one reserves versions, which writes a page. Its failure comes back here.
      this.#reserved = this.#version;
      const probe = async () => this.apply({ checks: [], writes: [{ key: ["probe", ""], remove: true }] });
      probe().catch(() => {});
    }, PROBE_MS).unref();
  }

  watch(range: Range, onChange: () => void): () => void {
    const listener = [boundsOf(range), onChange] as const;
    this.#listeners.add(listener);
    if (!this.isSerial && this.#watching === undefined) {
      this.#seen = this.#dataVersion();
      this.#watching = setInterval(() => this.#look(), WATCH_MS).unref();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopWatching();
    };
  }

  /** Notifies of what other processes have changed. */
  #look(): void {
    const version = this.#dataVersion();
    if (version === this.#seen) return;
    this.#seen = version;
    for (const [, onChange] of [...this.#listeners]) onChange();
  }

  /** A number that changes with each commit of another connection. */
  #dataVersion(): unknown {
    return this.#prepare("PRAGMA data_version").get()?.["data_version"];
  }

  #stopWatching(): void {
    clearInterval(this.#watching);
    this.#watching = undefined;
  }

  #notify(changed: readonly Bounds[]): void {
    if (changed.length === 0) return;
    for (const [{ from, to }, onChange] of [...this.#listeners]) {
      if (changed.some((each) => each.from < to && from < each.to)) onChange();
    }
  }

  /** Commits what was written, and tries nothing later. */
  close(): void {
    this.#flush();
    clearTimeout(this.#probe);
    this.#stopWatching();
    if (this.#place !== undefined) this.#place.close(this.#database);
    else if (this.#database.isOpen) this.#database.close();
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
