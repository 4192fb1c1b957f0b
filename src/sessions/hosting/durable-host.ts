import { receiveCall } from "../../engine/call/call.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { CallSuspensions } from "../../engine/call/suspension.ts";
import { problemOfArguments } from "../calls/asking/edited-arguments.ts";
import { cancelledExecution } from "../calls/ended-calls.ts";
import { toolPlaces } from "../calls/lanes.ts";
import { messageCall } from "../calls/message-calls.ts";
import { MessageRun } from "../calls/message-run.ts";
import type { CallGates } from "../durable/call-gates.ts";
import type { DurableCall, DurableHost } from "../durable/durable-runtime.ts";
import type { Settings } from "../options.ts";
import type { Session } from "../session.ts";
import type { SessionRecord } from "../store/records.ts";

/** What dispatches the calls of a durable runtime needs of the sessions of this process. */
export interface HostSessions {
  readonly settings: Settings;
  /** Returns a session as it is now; `undefined` if it is closed. */
  find(id: string, known?: SessionRecord): Promise<Session | undefined>;
}

/** Returns what dispatches the calls that a durable runtime gives to this process. */
export function durableHost({ settings, find }: HostSessions): DurableHost {
  const { suspensions, registry } = settings.context;
  return {
    checkArguments: async ({ sessionId, turnId, callId, shown }, edited) => {
      const session = await find(sessionId);
      if (session === undefined) return "the session is closed";
      return problemOfArguments(session, { callId, turnId, toolName: shown.toolName }, edited);
    },
    placesOf: (name) => toolPlaces(registry, settings, name),
    isSuspended: (call) => isSuspended(call, suspensions),
    dispatch: async (call, gates) => {
      const session = await find(call.sessionId, recentRecord(call));
      return session === undefined
        ? cancelledExecution(receiveCall(call.call))
        : dispatch(session, call, gates);
    },
  };
}

/** How long what was read of a session holds, in ms. A message reads it once for its calls, which follow at once. */
const RECENT_MS = 1_000;

function recentRecord({ session }: DurableCall): SessionRecord | undefined {
  // The clocks of two machines may differ.
  if (session === undefined || Math.abs(Date.now() - session.readAt) > RECENT_MS) return undefined;
  return session.record;
}

async function dispatch(
  session: Session,
  call: DurableCall,
  gates: CallGates,
): Promise<ToolExecution | null> {
  const { turnId, userText, unattended, messageId, trace, isSuspended: goesOn } = call;
  const turn = session.turnOf({ id: turnId, userText, unattended: unattended === true });
  const received = goesOn ? { ...messageCall(call.call), isSuspended: goesOn } : messageCall(call.call);
  const run = new MessageRun(turn, messageId, [received], { gates, trace });
  const result = await run.runFirst();
  // The program waits for the next process.
  if (session.isSuspended && run.hasLeft(received.id)) throw new Error("the process is ending");
  if (run.isLost(received.id)) throw new Error("the call goes on in another process");
  return result;
}

async function isSuspended(
  { sessionId, turnId, messageId, call }: DurableCall,
  suspensions: CallSuspensions | undefined,
): Promise<boolean> {
  return (await suspensions?.isSuspended({ sessionId, turnId, messageId, callId: call.id })) ?? false;
}
