import { receiveCall, type ToolCall } from "../../engine/call/call.ts";
import type { SessionCall } from "../../engine/call/journal.ts";
import { recordedExecution } from "../calls/ended-calls.ts";
import { identityOf } from "../calls/identity.ts";
import type { Session } from "../session.ts";
import type { Shared } from "../shared.ts";
import type { MessageRecord } from "../store/records.ts";
import type { SuspendedCalls } from "./suspended-calls.ts";

/** A call that has no end in the store. */
interface Unfinished {
  readonly call: ToolCall;
  readonly message: MessageRecord;
  readonly session: Session;
  /** Whether the store has its beginning. */
  readonly isClaimed: boolean;
}

/**
 * Ends the calls in the store that a journal has recorded as begun. A store can lag behind: it could not be written, or an
 * older copy of it was restored. The record of an effect is durable before the effect, so that the journal decides. The
 * calls are counted in the quotas of their sessions.
 *
 * @param suspended The calls that go on from where they were suspended.
 * @returns whether the store is known to lag behind, so that its ledger may lack calls too.
 * @throws anything that the journal throws if it cannot be read, as a rejection: what ran is not known then.
 */
export async function repair(
  { settings, store, inquiries }: Pick<Shared, "settings" | "store" | "inquiries">,
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
      // The journal has what goes on now as interrupted.
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
    await inquiries.abandon(keyOf(each));
  }
  return isBehind;
}

function keyOf({
  call,
  message: { sessionId, turnId, messageId },
  session: { principal },
}: Unfinished): SessionCall {
  return {
    ...{ sessionId, turnId, messageId, callId: call.id, toolName: call.name },
    ...(principal !== undefined && { principal: principal.id }),
  };
}
