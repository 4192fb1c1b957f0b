import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { type Key, RecordError } from "../../record/backend.ts";
import { SqliteBackend } from "../../record/sqlite-backend.ts";
import type { SqliteKind } from "../../record/sqlite-file.ts";
import type { Approval, StoredApproval } from "../approvals.ts";
import type { Confirmation, ConfirmationRecord, Resolution } from "../confirmations/confirmation.ts";
import { SessionStoreError } from "../session-errors.ts";
import type { CallEntry } from "./recorded-operations.ts";
import { RecordedSessionStore } from "./recorded-store.ts";
import type { LedgerRecord, MessageRecord, SessionRecord } from "./store.ts";

/** Files of sessions. Two processes that ran the same sessions would run calls twice. */
export const SESSIONS_FILE: SqliteKind = {
  name: "session store",
  // The bytes of `Sgss`.
  applicationId: 0x53_67_73_73,
  format: 6,
  isExclusive: true,
  convert: entriesOfTables,
  // Executions were entries of their own, which began with the same id, and every message was listed as unfinished.
  upgrades: [
    `UPDATE record SET value = substr(value, 1, length(value) - 1) || (
        SELECT substr(e.value, instr(record.value, ',"digest":"')) FROM record e
        WHERE e.key = 'execution' || substr(record.key, length('call') + 1)
      )
      WHERE key >= 'call/' AND key < 'call0'
        AND EXISTS (SELECT 1 FROM record e WHERE e.key = 'execution' || substr(record.key, length('call') + 1));
    DELETE FROM record WHERE key >= 'execution/' AND key < 'execution0' OR key >= 'unfinished/' AND key < 'unfinished0'`,
  ],
};

/**
 * A session store in one file, which no other process can open meanwhile. What is written in one turn of the event loop
 * is committed together. Nothing is written any more once the file, or the `-wal` beside it, is removed, renamed or replaced.
 */
export class SqliteSessionStore extends RecordedSessionStore {
  /**
   * Opens a file, and creates it if it does not exist. One that an earlier version wrote is converted, with a warning of the process.
   *
   * @throws {SessionStoreError} if it cannot be opened, is in use, is corrupt, has a newer format, or is not a store.
   */
  constructor(file: string) {
    super(open(file));
  }
}

function open(file: string): SqliteBackend {
  try {
    return new SqliteBackend(file, SESSIONS_FILE);
  } catch (error) {
    if (error instanceof RecordError) throw new SessionStoreError(error.message, { cause: error });
    throw error;
  }
}

type Row = Readonly<Record<string, SQLInputValue>>;
type KeyedValue = readonly [key: Key, value: unknown];

/** Returns the entries of a file that has tables of its own for sessions, messages, calls and so on. */
function* entriesOfTables(database: DatabaseSync): Generator<KeyedValue> {
  const tables = new Set(
    database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => name),
  );
  /** Tables that came later are missing in the earliest files. */
  function* rows(table: string, sql: string): Generator<Row> {
    if (tables.has(table)) yield* database.prepare(sql).iterate() as Iterable<Row>;
  }

  let hasSessions = false;
  for (const { mode, record } of rows("sessions", "SELECT mode, record FROM sessions ORDER BY place")) {
    hasSessions = true;
    const session: SessionRecord = { ...read<SessionRecord>(record), mode: mode as string };
    yield [["session", session.id], session];
  }
  yield* messagesOf(rows);
  for (const { session, tool, calls } of rows("counts", "SELECT session, tool, calls FROM counts")) {
    yield [
      ["count", session as string, tool as string],
      [tool, calls],
    ];
  }
  yield* callsOf(rows);
  for (const row of rows("inquiries", "SELECT inquiry, resolution FROM inquiries ORDER BY place")) {
    const confirmation = read<Confirmation>(row["inquiry"]);
    const { id, sessionId, turnId, messageId = "", callId } = confirmation;
    const resolution = row["resolution"] === null ? undefined : read<Resolution>(row["resolution"]);
    yield [
      ["confirmation", id],
      { confirmation, ...(resolution && { resolution }) } satisfies ConfirmationRecord,
    ];
    yield [["asked", sessionId, turnId, messageId, callId, id], id];
  }
  for (const row of rows("approvals", "SELECT approval, used FROM approvals ORDER BY place")) {
    const approval = read<Approval>(row["approval"]);
    const { id, sessionId } = approval;
    yield [["approval", id], { approval, used: row["used"] as number } satisfies StoredApproval];
    if (approval.for !== "workspace") yield [["approvalOf", sessionId, id], id];
  }
  for (const { id, session } of rows("removed_approvals", "SELECT id, session FROM removed_approvals")) {
    yield [["removed", id as string], session];
    yield [["removedOf", session as string, id as string], id];
  }
  yield* forgottenOf(rows("forgotten_turns", "SELECT session, turn FROM forgotten_turns ORDER BY place"));
  for (const { record } of rows("ledger", "SELECT record FROM ledger ORDER BY place")) {
    const entry = read<LedgerRecord>(record);
    yield [["ledger", "all", entry.id], entry];
  }
  const [state] = rows("ledger_state", "SELECT missing FROM ledger_state");
  // Without the table, the calls of the sessions before are missing.
  yield [["missing", "all"], state === undefined ? (hasSessions ? null : 0) : state["missing"]];
}

type Rows = (table: string, sql: string) => Generator<Row>;

function* messagesOf(rows: Rows): Generator<KeyedValue> {
  const turns = new Set<string>();
  for (const { record } of rows("messages", "SELECT record FROM messages ORDER BY place")) {
    const message = read<MessageRecord>(record);
    const { sessionId, turnId, messageId } = message;
    yield [["message", sessionId, turnId, messageId], message];
    const turn = JSON.stringify([sessionId, turnId]);
    if (!turns.has(turn)) yield [["turn", sessionId, turnId], turnId];
    turns.add(turn);
  }
}

function* callsOf(rows: Rows): Generator<KeyedValue> {
  const sql = "SELECT session, turn, message, call, digest, counted, claimed, execution FROM calls";
  for (const { session, turn, message, call, digest, counted, claimed, execution } of rows("calls", sql)) {
    const callId = call as string;
    const state: CallEntry = {
      callId,
      digest: digest as string,
      ...(counted === 1 && { isCounted: true }),
      ...(claimed === 1 && { isClaimed: true }),
      ...(execution !== null && { execution: read<ToolExecution>(execution) }),
    };
    yield [["call", session as string, turn as string, message as string, callId], state];
  }
}

function* forgottenOf(rows: Iterable<Row>): Generator<KeyedValue> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const [session, turn] = [row["session"] as string, row["turn"] as string];
    const count = counts.get(session) ?? 0;
    counts.set(session, count + 1);
    yield [["forgottenAt", session, String(count)], turn];
    yield [["forgotten", session, turn], count];
  }
  for (const [session, count] of counts) yield [["forgottenAt", session], count];
}

function read<Value>(text: SQLInputValue | undefined): Value {
  try {
    return JSON.parse(text as string) as Value;
  } catch (cause) {
    throw new RecordError("it has a record that is not JSON", { cause });
  }
}
