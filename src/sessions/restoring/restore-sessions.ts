import { receiveCall } from "../../engine/call/call.ts";
import { applyAnswer } from "../calls/asking/asking.ts";
import { interruptedExecution } from "../calls/ended-calls.ts";
import { identityOf } from "../calls/identity.ts";
import { warnIfNotHeld } from "../changes/warn-if-not-held.ts";
import { emitInto } from "../confirmation-events.ts";
import type { RestoredSession } from "../ledger/ledgers.ts";
import type { ResumedMessage, Session } from "../session.ts";
import type { SessionTable } from "../session-table.ts";
import type { Shared } from "../shared.ts";
import type { MessageRecord, SessionRecord } from "../store/records.ts";
import type { SessionStore } from "../store/store.ts";
import { cleanSuspended } from "./clean-suspended.ts";
import { repair } from "./repair.ts";
import { SuspendedCalls } from "./suspended-calls.ts";

/** Opens the sessions of the store again, and what was open in them. Returns the messages that go on. */
export async function restoreSessions(
  shared: Shared,
  table: SessionTable,
  create: (record: SessionRecord) => Promise<Session>,
): Promise<readonly ResumedMessage[]> {
  const { inquiries, approvals, settings, store } = shared;
  const { suspensions } = settings.context;
  const suspended = await SuspendedCalls.read(store === undefined ? undefined : suspensions);
  if (store !== undefined) {
    if (suspensions !== undefined) await cleanSuspended(store, suspensions, suspended);
    // What would read the results of an agent has ended.
    for (const { id, parent } of await store.sessions()) {
      if (parent !== undefined) await store.removeSession(id);
    }
    const answered = await inquiries.restore((inquiry) => suspended.hasCallerOf(inquiry));
    await approvals.restore();
    for (const record of await store.sessions()) {
      const session = await create(record);
      table.restore(session);
      // Without its workspace, it can hold no changes, so that a person is asked about them.
      await warnIfNotHeld(session.openChanges());
    }
    // Before any call is decided on, and whether or not the policy still asks about these.
    for (const { inquiry, resolution } of answered) {
      const session = table.get(inquiry.sessionId);
      if (session !== undefined) await applyAnswer(session, inquiry, resolution);
    }
  }
  const isBehind = await repair(shared, (id) => table.get(id), suspended);
  if (store !== undefined) await restoreLedgers(shared, table, store, isBehind);
  inquiries.on(emitInto(settings.context, (id) => table.get(id)?.principal));
  const resumed: ResumedMessage[] = [];
  for (const message of (await store?.unfinishedMessages()) ?? []) {
    const session = table.get(message.sessionId);
    if (session !== undefined) resumed.push(await resume(shared, session, message, suspended));
  }
  return resumed;
}

/** Without what the store has of them, calls may be missing. */
async function restoreLedgers(
  { ledgers, settings }: Shared,
  table: SessionTable,
  store: SessionStore,
  isBehind: boolean,
): Promise<void> {
  if (store.ledger === undefined || settings.context.policy.usesHistory !== true) {
    ledgers.miss();
    for (const { ledger } of table.all()) ledger.miss();
    return;
  }
  const opened = new Map<string, RestoredSession>();
  for (const { id, openedAt } of await store.sessions()) {
    const session = table.get(id);
    if (session !== undefined) opened.set(id, { openedAt, ledger: session.ledger.ledger });
  }
  const { entries, missingUntil } = await store.ledger.ledgerState();
  ledgers.restore({ entries, missingUntil: isBehind ? undefined : missingUntil }, opened);
}

async function resume(
  { table, inquiries }: Shared,
  session: Session,
  message: MessageRecord,
  suspended: SuspendedCalls,
): Promise<ResumedMessage> {
  const { turnId, messageId } = message;
  const ended = new Set<string>();
  const goOn = new Set<string>();
  for (const { callId, state } of await table.calls(session.id, turnId, messageId)) {
    const call = message.calls.find(({ id }) => id === callId);
    if (state === "begun" && suspended.has({ sessionId: session.id, turnId, messageId, callId })) {
      goOn.add(callId);
      continue;
    }
    if (state === "begun" && call !== undefined) {
      const identity = identityOf({ session, turnId, messageId }, call);
      await table.end(identity, interruptedExecution(receiveCall(call)));
    }
    if (state === "not-begun") continue;
    ended.add(callId);
    await inquiries.abandon({ sessionId: session.id, turnId, messageId, callId });
  }
  const resumed = session.resume(message, ended, goOn);
  // They cannot be read: who follows the message learns of it, and the calls have ended all the same.
  resumed.results.catch(() => {});
  return resumed;
}
