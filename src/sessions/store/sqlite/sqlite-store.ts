import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { OpenDatabasePlace } from "../../../base/open-file-place.ts";
import type { MaybePromise } from "../../../base/promises.ts";
import type { ToolExecution } from "../../../engine/call/execution.ts";
import { freezeJson, type JsonValue } from "../../../json/value.ts";
import type { CallIdentity } from "../../../record/identity.ts";
import type { Approval, StoredApproval } from "../../approvals.ts";
import {
  type Confirmation,
  type ConfirmationRecord,
  confirmationInForce,
  type Resolution,
} from "../../confirmations/confirmation.ts";
import { SessionStoreError } from "../../session-errors.ts";
import {
  type Claim,
  type LedgerTable,
  MAX_FORGOTTEN_TURNS,
  type MessageCallRecord,
  type MessageRecord,
  type SessionRecord,
  type SessionStore,
} from "../store.ts";
import { GroupedCommits, type Row, SqliteLedgerTable, Statements } from "./statements.ts";
import { openDatabase } from "./store-file.ts";

const ENDED_CALLER = `SELECT 1 FROM calls WHERE session = ? AND turn = ? AND message IS ?
  AND execution IS NOT NULL AND substr(?, 1, length(call) + 1) = call || '/'`;

const THE_CALL = "session = ? AND turn = ? AND message = ? AND call = ?";

/**
 * A session store in one file, which no other process can open meanwhile. What is written in one turn of the event loop
 * is committed together. Nothing is written any more once the file, or the `-wal` beside it, is removed, renamed or replaced.
 */
export class SqliteSessionStore implements SessionStore {
  readonly ledger: LedgerTable;
  readonly #database: DatabaseSync;
  readonly #place: OpenDatabasePlace;
  readonly #commits: GroupedCommits;
  readonly #statements: Statements;

  /**
   * Opens a file, and creates it if it does not exist.
   *
   * @throws {SessionStoreError} if it cannot be opened, is in use, is corrupt, has a newer format, or is not a store.
   */
  constructor(file: string) {
    this.#database = openDatabase(file);
    this.#place = new OpenDatabasePlace(file);
    this.#commits = new GroupedCommits(this.#database, this.#place);
    this.ledger = new SqliteLedgerTable(this.#database, this.#commits);
    this.#statements = new Statements(this.#database);
  }

  get problem(): string | undefined {
    return this.#commits.problem;
  }

  addSession(session: SessionRecord): Promise<boolean> {
    return this.#commits.write(() =>
      this.#statements.change(
        "INSERT INTO sessions (id, mode, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [session.id, session.mode, writeRecord(session)],
      ),
    );
  }

  async setMode(sessionId: string, mode: string): Promise<void> {
    await this.#commits.write(() =>
      this.#statements.change("UPDATE sessions SET mode = ? WHERE id = ?", [mode, sessionId]),
    );
  }

  async removeSession(sessionId: string): Promise<void> {
    await this.#commits.write(() =>
      this.#statements.change("DELETE FROM sessions WHERE id = ?", [sessionId]),
    );
  }

  sessions(): MaybePromise<readonly SessionRecord[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows("SELECT mode, record FROM sessions ORDER BY place")
        .map(({ mode, record }) =>
          Object.freeze({ ...readRecord<SessionRecord>(record), mode: mode as string }),
        ),
    );
  }

  addMessage(message: MessageRecord): Promise<MessageRecord | undefined> {
    const { sessionId, turnId, messageId, calls } = message;
    const key = [sessionId, turnId, messageId];
    return this.#commits.write(() => {
      const isNew = this.#statements.change(
        "INSERT INTO messages (session, turn, message, size, record) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [...key, calls.length, writeRecord(message)],
      );
      if (isNew) return undefined;
      const known = this.#statements.row(
        "SELECT record FROM messages WHERE session = ? AND turn = ? AND message = ?",
        key,
      );
      return readRecord<MessageRecord>(known?.["record"]);
    });
  }

  messages(sessionId: string, turnId: string): MaybePromise<readonly MessageRecord[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows("SELECT record FROM messages WHERE session = ? AND turn = ? ORDER BY place", [
          sessionId,
          turnId,
        ])
        .map(({ record }) => readRecord<MessageRecord>(record)),
    );
  }

  turnIds(sessionId: string): MaybePromise<readonly string[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows("SELECT turn FROM messages WHERE session = ? GROUP BY turn ORDER BY min(place)", [sessionId])
        .map(({ turn }) => turn as string),
    );
  }

  unfinishedMessages(): MaybePromise<readonly MessageRecord[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows(
          `SELECT record FROM messages m WHERE size > (
          SELECT count(execution) FROM calls c
          WHERE c.session = m.session AND c.turn = m.turn AND c.message = m.message
        ) ORDER BY place`,
        )
        .map(({ record }) => readRecord<MessageRecord>(record)),
    );
  }

  async removeTurn(sessionId: string, turnId: string): Promise<void> {
    await this.#commits.write(() => {
      const key = [sessionId, turnId] as const;
      const had = this.#statements.change("DELETE FROM messages WHERE session = ? AND turn = ?", key);
      this.#statements.change("DELETE FROM inquiries WHERE session = ? AND turn = ?", key);
      if (had) this.#forget(key);
    });
  }

  /** Remembers that a turn was there, and drops the oldest of those that are remembered if there are too many. */
  #forget(key: readonly [sessionId: string, turnId: string]): void {
    this.#statements.change("INSERT OR REPLACE INTO forgotten_turns (session, turn) VALUES (?, ?)", key);
    this.#statements.change(
      `DELETE FROM forgotten_turns WHERE place IN (
        SELECT place FROM forgotten_turns WHERE session = ? ORDER BY place DESC LIMIT -1 OFFSET ${MAX_FORGOTTEN_TURNS}
      )`,
      [key[0]],
    );
  }

  isForgotten(sessionId: string, turnId: string): MaybePromise<boolean> {
    return this.#commits.read(
      () =>
        this.#statements.row("SELECT 1 FROM forgotten_turns WHERE session = ? AND turn = ?", [
          sessionId,
          turnId,
        ]) !== undefined,
    );
  }

  count(identity: CallIdentity, toolName: string): Promise<boolean> {
    return this.#commits.write(() => {
      const isNew = this.#statements.change(
        `INSERT INTO calls (session, turn, message, call, digest, counted) VALUES (?, ?, ?, ?, ?, 1)
          ON CONFLICT DO UPDATE SET counted = 1 WHERE counted = 0`,
        [...keyOf(identity), identity.digest],
      );
      if (!isNew) return false;
      return this.#statements.change(
        "INSERT INTO counts (session, tool, calls) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET calls = calls + 1",
        [identity.sessionId, toolName],
      );
    });
  }

  isCounted(identity: CallIdentity): MaybePromise<boolean> {
    return this.#commits.read(
      () =>
        this.#statements.row(`SELECT counted FROM calls WHERE ${THE_CALL}`, keyOf(identity))?.["counted"] ===
        1,
    );
  }

  counts(sessionId: string): MaybePromise<ReadonlyMap<string, number>> {
    return this.#commits.read(
      () =>
        new Map(
          this.#statements
            .rows("SELECT tool, calls FROM counts WHERE session = ?", [sessionId])
            .map(({ tool, calls }) => [tool as string, calls as number]),
        ),
    );
  }

  claim(identity: CallIdentity): Promise<Claim> {
    return this.#commits.write((): Claim => {
      const key = keyOf(identity);
      const isFresh = this.#statements.change(
        `INSERT INTO calls (session, turn, message, call, digest, claimed) VALUES (?, ?, ?, ?, ?, 1)
          ON CONFLICT DO UPDATE SET claimed = 1
          WHERE claimed = 0 AND execution IS NULL AND digest = excluded.digest`,
        [...key, identity.digest],
      );
      if (isFresh) return { state: "fresh" };
      const known = this.#statements.row(`SELECT digest, execution FROM calls WHERE ${THE_CALL}`, key);
      if (known?.["digest"] !== identity.digest) return { state: "conflict" };
      if (known["execution"] === null) return { state: "begun" };
      return { state: "ended", execution: readRecord<ToolExecution>(known["execution"]) };
    });
  }

  async end(identity: CallIdentity, execution: ToolExecution): Promise<void> {
    const key = keyOf(identity);
    await this.#commits.write(() =>
      this.#statements.change(
        `INSERT INTO calls (session, turn, message, call, digest, execution)
          SELECT session, turn, message, ?, ?, ? FROM messages WHERE session = ? AND turn = ? AND message = ?
          ON CONFLICT DO UPDATE SET execution = excluded.execution WHERE execution IS NULL`,
        [identity.callId, identity.digest, writeRecord(execution), ...key.slice(0, 3)],
      ),
    );
  }

  calls(sessionId: string, turnId: string, messageId: string): MaybePromise<readonly MessageCallRecord[]> {
    const key = [sessionId, turnId, messageId];
    return this.#commits.read(() => {
      const message = this.#statements.row(
        "SELECT record FROM messages WHERE session = ? AND turn = ? AND message = ?",
        key,
      );
      if (message === undefined) return [];
      const rows = this.#statements.rows(
        "SELECT call, claimed, execution FROM calls WHERE session = ? AND turn = ? AND message = ?",
        key,
      );
      const known = new Map(rows.map((row) => [row["call"], row]));
      return readRecord<MessageRecord>(message["record"]).calls.map(({ id: callId }): MessageCallRecord => {
        const { claimed = 0, execution = null } = known.get(callId) ?? {};
        if (execution !== null)
          return { callId, state: "ended", execution: readRecord<ToolExecution>(execution) };
        return { callId, state: claimed === 1 ? "begun" : "not-begun" };
      });
    });
  }

  addConfirmation(confirmation: Confirmation): Promise<ConfirmationRecord | undefined> {
    const { id, sessionId, turnId, messageId = null, callId, parent } = confirmation;
    const key = [sessionId, turnId, messageId, callId];
    return this.#commits.write(() => {
      const known = this.#statements.row("SELECT inquiry, resolution FROM inquiries WHERE id = ?", [id]);
      if (known !== undefined) return readConfirmation(known);
      if (parent !== undefined && this.#statements.row(ENDED_CALLER, key) !== undefined) return undefined;
      const about = this.#statements.rows(
        "SELECT inquiry, resolution FROM inquiries WHERE session = ? AND turn = ? AND message IS ? AND call = ? ORDER BY place",
        key,
      );
      const standing = confirmationInForce(about.map(readConfirmation), confirmation);
      if (standing !== undefined) return standing;
      this.#statements.change(
        "INSERT INTO inquiries (id, session, turn, message, call, nested, inquiry) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [id, ...key, parent === undefined ? 0 : 1, writeRecord(confirmation)],
      );
      return { confirmation };
    });
  }

  resolveConfirmation(id: string, resolution: Resolution): Promise<Resolution | undefined> {
    return this.#commits.write(() => {
      const isFirst = this.#statements.change(
        "UPDATE inquiries SET resolution = ? WHERE id = ? AND resolution IS NULL",
        [writeRecord(resolution), id],
      );
      if (isFirst) return resolution;
      const known = this.#statements.row("SELECT resolution FROM inquiries WHERE id = ?", [id]);
      return known && readRecord<Resolution>(known["resolution"]);
    });
  }

  confirmation(id: string): MaybePromise<ConfirmationRecord | undefined> {
    return this.#commits.read(() => {
      const row = this.#statements.row("SELECT inquiry, resolution FROM inquiries WHERE id = ?", [id]);
      return row && readConfirmation(row);
    });
  }

  pendingConfirmations(): MaybePromise<readonly ConfirmationRecord[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows(
          `SELECT inquiry, resolution FROM inquiries i WHERE resolution IS NULL OR (nested = 0 AND NOT EXISTS (
          SELECT 1 FROM calls c
          WHERE c.session = i.session AND c.turn = i.turn AND c.message = i.message AND c.call = i.call
            AND (c.claimed = 1 OR c.execution IS NOT NULL)
        )) OR (nested = 1 AND EXISTS (
          SELECT 1 FROM calls c
          WHERE c.session = i.session AND c.turn = i.turn AND c.message = i.message
            AND c.claimed = 1 AND c.execution IS NULL
            AND substr(i.call, 1, length(c.call) + 1) = c.call || '/'
        )) ORDER BY place`,
        )
        .map(readConfirmation),
    );
  }

  addApproval(approval: Approval): Promise<boolean> {
    const { id, sessionId, calls = null } = approval;
    return this.#commits.write(() => {
      if (this.#statements.row("SELECT 1 FROM removed_approvals WHERE id = ?", [id]) !== undefined)
        return false;
      this.#statements.change(
        "INSERT INTO approvals (id, session, approval, calls) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [id, approval.for === "workspace" ? null : sessionId, writeRecord(approval), calls],
      );
      return true;
    });
  }

  approvals(): MaybePromise<readonly StoredApproval[]> {
    return this.#commits.read(() =>
      this.#statements
        .rows("SELECT approval, used FROM approvals ORDER BY place")
        .map(({ approval, used }) => ({
          approval: readRecord<Approval>(approval),
          used: used as number,
        })),
    );
  }

  useApproval(id: string): Promise<boolean> {
    return this.#commits.write(() =>
      this.#statements.change(
        "UPDATE approvals SET used = used + 1 WHERE id = ? AND (calls IS NULL OR used < calls)",
        [id],
      ),
    );
  }

  removeApproval(id: string): Promise<boolean> {
    return this.#commits.write(() => {
      this.#statements.change(
        `INSERT INTO removed_approvals (id, session)
          SELECT a.id, s.id FROM approvals a JOIN sessions s ON s.id = a.approval ->> '$.sessionId' WHERE a.id = ?`,
        [id],
      );
      return this.#statements.change("DELETE FROM approvals WHERE id = ?", [id]);
    });
  }

  close(): void {
    this.#commits.close();
    this.#place.close(this.#database);
  }
}

function keyOf({ sessionId, turnId, messageId, callId }: CallIdentity): string[] {
  return [sessionId, turnId, messageId, callId];
}

function readConfirmation({ inquiry: confirmation, resolution }: Row): ConfirmationRecord {
  if (resolution === null) return { confirmation: readRecord<Confirmation>(confirmation) };
  return {
    confirmation: readRecord<Confirmation>(confirmation),
    resolution: readRecord<Resolution>(resolution),
  };
}

/** Returns the text as which a record is stored. */
function writeRecord(record: object): string {
  return JSON.stringify(record);
}

/**
 * Returns the record that a text has, frozen.
 *
 * @throws {SessionStoreError} if the text is not JSON.
 */
function readRecord<Record extends object>(text: SQLInputValue | undefined): Record {
  try {
    return freezeJson(JSON.parse(text as string) as JsonValue) as unknown as Record;
  } catch (error) {
    throw new SessionStoreError("the session store has a record that is not JSON", { cause: error });
  }
}
