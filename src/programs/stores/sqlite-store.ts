import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { OpenDatabasePlace } from "../../base/open-file-place.ts";
import type { ClaimedCall } from "../../engine/call/suspension.ts";
import type { ClaimState } from "../../record/identity.ts";
import { openDatabase, readableError } from "./open-database.ts";
import {
  isHeader,
  MAX_TEMPLATE_BYTES,
  type ProgramHeader,
  type StoredCall,
  type StoredProgram,
  type SuspensionStore,
  SuspensionStoreError,
} from "./suspension-store.ts";

type Row = Record<string, SQLInputValue>;

const UPDATE = `UPDATE programs SET revision = ?, waiting = 1, template = ?, header = ?, sealed = ?
  WHERE id = ? AND revision = ?`;

/**
 * Stores suspended programs in one file, which several processes can have open: a program continues in one of
 * them.
 */
export class SqliteSuspensionStore implements SuspensionStore {
  readonly #database: DatabaseSync;
  /** `undefined` if nothing is written. */
  readonly #place: OpenDatabasePlace | undefined;
  readonly #writes: GroupedWrites;
  readonly #prepared = new Map<string, StatementSync>();

  /**
   * Opens a file, and creates it if it does not exist.
   *
   * @param options.readOnly Opens a file that exists, and changes nothing. Default: `false`.
   * @throws {SuspensionStoreError} if it cannot be opened, is corrupt, has a newer format, or is not a store.
   */
  constructor(file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    this.#database = openDatabase(file, readOnly);
    this.#place = readOnly ? undefined : new OpenDatabasePlace(file);
    this.#writes = new GroupedWrites(this.#database, this.#place);
  }

  put({ sealed, ...header }: StoredProgram, calls: readonly StoredCall[]): Promise<boolean> {
    const { id, revision, sessionId, turnId, messageId, callId, template } = header;
    const text = JSON.stringify(header);
    return this.#writes.write(() => {
      const isWritten =
        revision === 1
          ? this.#change(
              `INSERT INTO programs (id, revision, waiting, session, turn, message, call, template, header, sealed)
                VALUES (?, 1, 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
              [id, sessionId, turnId, messageId, callId, template, text, sealed],
            )
          : this.#change(UPDATE, [revision, template, text, sealed, id, revision - 1]);
      if (!isWritten) return false;
      for (const call of calls) {
        this.#change("INSERT OR REPLACE INTO calls (program, number, digest, sealed) VALUES (?, ?, ?, ?)", [
          id,
          call.number,
          call.digest,
          call.sealed ?? null,
        ]);
      }
      return true;
    });
  }

  replace({ sealed, ...header }: StoredProgram): Promise<boolean> {
    const { id, revision, template } = header;
    const values = [revision, template, JSON.stringify(header), sealed, id, revision - 1];
    return this.#writes.write(() => this.#change(`${UPDATE} AND waiting = 1`, values));
  }

  take(id: string, revision: number): Promise<boolean> {
    return this.#writes.write(() =>
      this.#change("UPDATE programs SET waiting = 0 WHERE id = ? AND revision = ? AND waiting = 1", [
        id,
        revision,
      ]),
    );
  }

  get(id: string): StoredProgram | undefined {
    const row = this.#rows("SELECT waiting, header, sealed FROM programs WHERE id = ?", [id])[0];
    const header = row && readHeader(row);
    return header && { ...header, sealed: row["sealed"] as Uint8Array };
  }

  list(): readonly ProgramHeader[] {
    return this.#rows("SELECT waiting, header FROM programs ORDER BY place", []).flatMap(
      (row) => readHeader(row) ?? [],
    );
  }

  remove(id: string): Promise<boolean> {
    return this.#writes.write(() => {
      this.#change(
        `DELETE FROM programs WHERE place IN (
          SELECT other.place FROM programs p JOIN programs other
            ON other.session = p.session AND other.turn = p.turn AND other.message = p.message
          WHERE p.id = ? AND substr(other.call, 1, length(p.call) + 1) = p.call || '/'
        )`,
        [id],
      );
      return this.#change("DELETE FROM programs WHERE id = ?", [id]);
    });
  }

  claim(id: string, revision: number, { number, digest }: ClaimedCall): Promise<ClaimState> {
    return this.#writes.write(() => {
      const isFresh = this.#change(
        `INSERT INTO calls (program, number, digest) SELECT id, ?, ? FROM programs WHERE id = ? AND revision = ?
          ON CONFLICT DO NOTHING`,
        [number, digest, id, revision],
      );
      if (isFresh) return "fresh";
      const [known] = this.#rows(
        `SELECT digest, calls.sealed FROM calls JOIN programs ON id = program
          WHERE program = ? AND revision = ? AND number = ?`,
        [id, revision, number],
      );
      if (known?.["digest"] !== digest) return "conflict";
      return known["sealed"] === null ? "begun" : "ended";
    });
  }

  async end(id: string, revision: number, { number, digest, sealed }: Required<StoredCall>): Promise<void> {
    await this.#writes.write(() =>
      this.#change(
        `INSERT INTO calls (program, number, digest, sealed)
          SELECT id, ?, ?, ? FROM programs WHERE id = ? AND revision = ?
          ON CONFLICT DO UPDATE SET sealed = excluded.sealed WHERE sealed IS NULL`,
        [number, digest, sealed ?? null, id, revision],
      ),
    );
  }

  calls(id: string): readonly StoredCall[] {
    return this.#rows("SELECT number, digest, sealed FROM calls WHERE program = ? ORDER BY number", [id]).map(
      ({ number, digest, sealed }) => ({
        number: number as number,
        digest: digest as string,
        ...(sealed !== null && { sealed: sealed as Uint8Array }),
      }),
    );
  }

  hasTemplate(digest: string): boolean {
    return this.#rows("SELECT 1 FROM templates WHERE digest = ?", [digest]).length > 0;
  }

  async addTemplate(digest: string, bytes: Uint8Array): Promise<void> {
    const { zstdCompressSync } = process.getBuiltinModule("node:zlib");
    const compressed = zstdCompressSync(bytes);
    await this.#writes.write(() =>
      this.#change("INSERT INTO templates (digest, size, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", [
        digest,
        bytes.length,
        compressed,
      ]),
    );
  }

  template(digest: string): Uint8Array | undefined {
    const [row] = this.#rows("SELECT bytes FROM templates WHERE digest = ?", [digest]);
    if (row === undefined) return undefined;
    const { zstdDecompressSync } = process.getBuiltinModule("node:zlib");
    try {
      return zstdDecompressSync(row["bytes"] as Uint8Array, { maxOutputLength: MAX_TEMPLATE_BYTES });
    } catch (error) {
      throw new SuspensionStoreError("the store of programs has a template that is corrupt", {
        cause: error,
      });
    }
  }

  removeTemplates(): Promise<number> {
    return this.#writes.write(() =>
      Number(
        this.#prepare("DELETE FROM templates WHERE digest NOT IN (SELECT template FROM programs)").run()
          .changes,
      ),
    );
  }

  close(): void {
    this.#writes.flush();
    if (this.#place !== undefined) this.#place.close(this.#database);
    else if (this.#database.isOpen) this.#database.close();
  }

  #change(sql: string, values: readonly SQLInputValue[]): boolean {
    return this.#prepare(sql).run(...values).changes !== 0;
  }

  #rows(sql: string, values: readonly SQLInputValue[]): Row[] {
    try {
      return this.#prepare(sql).all(...values) as Row[];
    } catch (error) {
      throw new SuspensionStoreError(`the store of programs failed: ${readableError(error)}`, {
        cause: error,
      });
    }
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

/**
 * Returns what is readable of a program; `undefined` if it was changed, so that it cannot be read and cannot
 * continue.
 */
function readHeader({ waiting, header }: Row): ProgramHeader | undefined {
  try {
    const read = JSON.parse(header as string) as ProgramHeader;
    if (!isHeader(read)) return undefined;
    return { ...read, state: waiting === 1 ? "waiting" : "taken" };
  } catch {
    return undefined;
  }
}

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
class GroupedWrites {
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
