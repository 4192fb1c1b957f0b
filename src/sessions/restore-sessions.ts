import type { SessionCall } from "../engine/call/journal.ts";
import type { CallPlace, CallSuspensions } from "../engine/call/suspension.ts";
import { receiveCall, type ToolCall } from "../engine/call.ts";
import { identityOf } from "../record/identity.ts";
import { applyAnswer } from "./calls/call-confirmation.ts";
import { interruptedExecution, recordedExecution } from "./calls/ended-calls.ts";
import type { Confirmation } from "./confirmations/confirmation.ts";
import { emitInto } from "./confirmations/confirmation-events.ts";
import type { RestoredSession } from "./ledger/ledgers.ts";
import type { ResumedMessage, Session } from "./session.ts";
import { warnIfNotStaged } from "./session-changes.ts";
import type { SessionTable } from "./session-table.ts";
import type { Shared } from "./shared.ts";
import type { MessageRecord, SessionRecord, SessionStore } from "./store/store.ts";

/** A call that has no end in the store. */
interface Unfinished {
  readonly call: ToolCall;
  readonly message: MessageRecord;
  readonly session: Session;
  /** Whether the store has its beginning. */
  readonly isClaimed: boolean;
}

/** Opens the sessions of the store again, and what was open in them. Returns the messages that continue. */
export async function restoreSessions(
  shared: Shared,
  table: SessionTable,
  create: (record: SessionRecord) => Promise<Session>,
): Promise<readonly ResumedMessage[]> {
  const { confirmations, approvals, settings, store } = shared;
  const { suspensions } = settings.context;
  const suspended = await SuspendedCalls.read(store === undefined ? undefined : suspensions);
  if (store !== undefined) {
    if (suspensions !== undefined) await cleanSuspended(store, suspensions, suspended);
    // What would read the results of an agent has ended.
    for (const { id, parent } of await store.sessions()) {
      if (parent !== undefined) await store.removeSession(id);
    }
    const answered = await confirmations.restore((confirmation) => suspended.hasCallerOf(confirmation));
    await approvals.restore();
    for (const record of await store.sessions()) {
      const session = await create(record);
      table.restore(session);
      // Without its workspace, changes cannot be staged, so that a person is asked about them.
      await warnIfNotStaged(session.openChanges());
    }
    // Before any call is decided on, and whether or not the policy still asks about these.
    for (const { confirmation, resolution } of answered) {
      const session = table.get(confirmation.sessionId);
      if (session !== undefined) await applyAnswer(session, confirmation, resolution);
    }
  }
  const isBehind = await repair(shared, (id) => table.get(id), suspended);
  if (store !== undefined) await restoreLedgers(shared, table, store, isBehind);
  confirmations.on(emitInto(settings.context, (id) => table.get(id)?.principal));
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
    ledgers.markMissing();
    for (const { ledger } of table.all()) ledger.markMissing();
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
  { table, confirmations }: Shared,
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
    await confirmations.abandon({ sessionId: session.id, turnId, messageId, callId });
  }
  const resumed = session.resume(message, ended, goOn);
  // If reading fails, the caller gets the error; the calls have ended anyway.
  resumed.results.catch(() => {});
  return resumed;
}

/**
 * Forgets the suspended calls of earlier processes that do not continue: those that had continued in a process that was lost, and
 * those that have ended. Only this process has the sessions of its store, so calls of other sessions are left alone.
 */
async function cleanSuspended(
  store: SessionStore,
  suspensions: CallSuspensions,
  suspended: SuspendedCalls,
): Promise<void> {
  const own = new Set<string>();
  const goingOn = new Set<string>();
  for (const { id, parent } of await store.sessions()) {
    own.add(id);
    if (parent === undefined) goingOn.add(id);
  }
  const places: CallPlace[] = [];
  for (const { sessionId, turnId, messageId } of await store.unfinishedMessages()) {
    if (!goingOn.has(sessionId)) continue;
    for (const { callId, state } of await store.calls(sessionId, turnId, messageId)) {
      const place = { sessionId, turnId, messageId, callId };
      if (state === "begun" && suspended.has(place)) places.push(place);
    }
  }
  const goOn = new SuspendedCalls(places);
  await suspensions.clean((call) => own.has(call.sessionId) && (call.isResumed || !goOn.hasAbove(call)));
}

/**
 * Ends the calls in the store that a journal has recorded as begun. A store can lag behind: it could not be written, or an
 * older copy of it was restored. The record of an effect is durable before the effect, so that the journal decides. The
 * calls are counted in the quotas of their sessions.
 *
 * @param suspended The calls that continue from where they were suspended.
 * @returns whether the store is known to lag behind, so that its ledger may lack calls too.
 * @throws anything that the journal throws if it cannot be read, as a rejection: what ran is not known then.
 */
async function repair(
  { settings, store, confirmations }: Pick<Shared, "settings" | "store" | "confirmations">,
  sessionOf: (id: string) => Session | undefined,
  suspended: SuspendedCalls,
): Promise<boolean> {
  const { journal } = settings.context;
  if (store === undefined || journal?.findCalls === undefined) return false;
  const unfinished: Unfinished[] = [];
  for (const message of await store.unfinishedMessages()) {
    const session = sessionOf(message.sessionId);
    if (session === undefined) continue;
    const states = await store.calls(message.sessionId, message.turnId, message.messageId);
    for (const { callId, state } of states) {
      const call = message.calls.find(({ id }) => id === callId);
      // The journal has the calls that continue now as interrupted.
      if (state === "begun" && suspended.has({ ...message, callId })) continue;
      if (state !== "ended" && call !== undefined) {
        unfinished.push({ call, message, session, isClaimed: state === "begun" });
      }
    }
  }
  if (unfinished.length === 0) return false;
  const since = unfinished.reduce((first, { message }) => Math.min(first, message.receivedAt), Infinity);
  const recorded = await journal.findCalls(unfinished.map(keyOf), since);
  let isBehind = false;
  for (const [index, each] of unfinished.entries()) {
    const known = recorded[index];
    if (known === undefined) continue;
    const { call, message, session } = each;
    const identity = identityOf({ ...message, session }, call);
    // A claim is durable before the journal has the beginning.
    if (!each.isClaimed) isBehind = true;
    await session.quotas?.recount(call.name, identity);
    await store.end(identity, recordedExecution(receiveCall(call), known));
    await confirmations.abandon(keyOf(each));
  }
  return isBehind;
}

function keyOf({
  call,
  message: { sessionId, turnId, messageId },
  session: { principal },
}: Unfinished): SessionCall {
  return {
    sessionId,
    turnId,
    messageId,
    callId: call.id,
    toolName: call.name,
    ...(principal !== undefined && { principal: principal.id }),
  };
}

/** The calls of earlier processes that were suspended while they waited. */
class SuspendedCalls {
  readonly #places: ReadonlySet<string>;

  /** @param suspensions `undefined` if calls end with their process. */
  static async read(suspensions: CallSuspensions | undefined): Promise<SuspendedCalls> {
    return new SuspendedCalls((await suspensions?.waiting()) ?? []);
  }

  constructor(places: readonly CallPlace[]) {
    this.#places = new Set(places.map(placeKey));
  }

  has(place: CallPlace): boolean {
    return this.#places.has(placeKey(place));
  }

  /** Whether it is one of these calls, or was made below one of them. */
  hasAbove(place: CallPlace): boolean {
    const { callId } = place;
    for (let end = callId.length; end > 0; end = callId.lastIndexOf("/", end - 1)) {
      if (this.has({ ...place, callId: callId.slice(0, end) })) return true;
    }
    return false;
  }

  /** Whether the call that a confirmation is about was made by the tool of a suspended call, which asks again. */
  hasCallerOf({ sessionId, turnId, messageId = "", parent: callId }: Confirmation): boolean {
    return callId !== undefined && this.has({ sessionId, turnId, messageId, callId });
  }
}

function placeKey({ sessionId, turnId, messageId, callId }: CallPlace): string {
  return JSON.stringify([sessionId, turnId, messageId, callId]);
}
