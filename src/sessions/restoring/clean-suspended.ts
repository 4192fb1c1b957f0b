import type { CallPlace, CallSuspensions } from "../../engine/call/suspension.ts";
import type { SessionStore } from "../store/store.ts";
import { SuspendedCalls } from "./suspended-calls.ts";

/**
 * Forgets the suspended calls of earlier processes that do not go on: those that had gone on in a process that was lost, and
 * those that have ended. Only this process has the sessions of its store, so calls of other sessions are left alone.
 */
export async function cleanSuspended(
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
