import { type DispatchEvent, EventStream } from "../../engine/call/events.ts";
import { isRepeatable } from "../../engine/call/idempotency.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import { Recorder, type RecordSink } from "../../engine/steps/record.ts";
import { requireClaimed } from "../../record/identity.ts";
import type { CallGates } from "../durable-runtime.ts";
import type { MessageLedger } from "../ledger/message-ledger.ts";
import { type MessageCore, parentName, type RestartableMessage } from "./core.ts";

/** A message, as the records of its calls need it. */
export interface RecordedMessage extends MessageCore, RestartableMessage {
  /** Of the only call, if a durable runtime has it dispatched: the runtime claims it, in place of the store. */
  readonly gates: CallGates | undefined;
  /** `undefined` if no policy depends on earlier calls. */
  readonly ledger: MessageLedger | undefined;
}

type Sink = RecordSink<RecordedMessage>;

/** Takes the call in the store, so that it is not run again after a restart. */
const claim: Sink = {
  begin(message, { parent, isSuspended, callId, toolName }) {
    const { store } = message.session;
    if (store === undefined || message.gates !== undefined) return undefined;
    // The claim of a nested call is that of its caller. A suspended one was claimed before: one process takes what was suspended.
    if (parent !== undefined || isSuspended === true) return undefined;
    const claimed = store.claim(message.identityOf(callId, toolName, null));
    if (claimed instanceof Promise) return claimed.then(({ state }) => requireClaimed(state));
    return requireClaimed(claimed.state);
  },
};

/** Passes the gate of a durable runtime, which takes the call for this process. */
const gate: Sink = {
  begin({ gates, session }, { parent, toolName, sideEffects }) {
    // The gate of a nested call is that of its caller.
    if (gates === undefined || parent !== undefined) return undefined;
    const tool = session.registry.find(toolName)?.tool;
    return gates.begin({ isRepeatable: tool !== undefined && isRepeatable(tool, sideEffects) });
  },
};

/** Enters the call for conditions on earlier calls. Every call that the policy was asked about gets here. */
const ledger: Sink = {
  // In the same commit as the claim.
  isAlongside: true,
  begin: (message, record) => message.ledger?.record(record),
  end: (message, record) => message.ledger?.recordEnd(record),
  deny: (message, { callId }) => message.ledger?.release(callId),
};

/**
 * Writes the record in the journal's chain, unless another process continues the call and records what
 * becomes of it.
 */
const chain: Sink = {
  begin(message, record) {
    const { settings, provenance } = message.session;
    const { journal } = settings.context;
    const own = ofAgent(message, record);
    if (provenance === undefined || journal?.recordsSources !== true) return journal?.begin(own);
    return journal.begin({ ...own, sources: provenance.sourcesOf(record.canonical.value) });
  },
  end(message, record) {
    const { journal } = message.session.settings.context;
    const isSuspended = message.gates === undefined && message.isSuspended(record.callId);
    const own = ofAgent(message, record);
    return journal?.end(isSuspended ? { ...own, isSuspended } : own);
  },
  deny(message, record) {
    const { code, parent } = record;
    const goesOn = message.gates?.isAbandoned ?? (code === "cancelled" && message.goesOn(parent));
    return goesOn ? undefined : message.session.settings.context.journal?.deny(ofAgent(message, record));
  },
};

/** What is done with each record of a call, from its claim on, in this order. Nothing runs before all of it is durable. */
const SINKS: readonly Sink[] = [
  claim, // or:
  gate,
  ledger,
  chain,
];

/** Returns what records the calls of a message; `undefined` if nothing does. */
export function recorderOf(message: RecordedMessage): CallJournal | undefined {
  const { store, origin, provenance, settings } = message.session;
  const { journal } = settings.context;
  const isClaimed = store !== undefined || message.gates !== undefined;
  const isChanged = origin !== undefined || (provenance !== undefined && journal?.recordsSources === true);
  // The journal alone costs less.
  if (!isClaimed && message.ledger === undefined && (journal === undefined || !isChanged)) return journal;
  // No call may run that is claimed already, whatever its class.
  return new Recorder(SINKS, message, isClaimed || journal?.awaitsEvery === true);
}

/** Names the call that runs the agent, except in records of calls that the agent's own tools make. */
function ofAgent<Of extends DispatchedRecord | EndedRecord | DeniedRecord | DispatchEvent>(
  { session: { origin } }: RecordedMessage,
  record: Of,
): Of {
  return origin === undefined ? record : { parent: parentName(origin), ...record };
}

/** Returns what the events of the calls of a message go to; `undefined` if nothing listens. */
export function eventsOf(message: RecordedMessage): EventStream | undefined {
  const { store, origin, settings } = message.session;
  const { events } = settings.context;
  const passesAll = store === undefined && origin === undefined && message.gates === undefined;
  return events === undefined || passesAll ? events : new MessageEvents(events, message);
}

/** Forwards the events of a message's calls, except the end of a call that another process continues. */
class MessageEvents extends EventStream {
  readonly #events: EventStream;
  readonly #message: RecordedMessage;

  constructor(events: EventStream, message: RecordedMessage) {
    super();
    this.#events = events;
    this.#message = message;
  }

  override get listening(): boolean {
    return this.#events.listening;
  }

  override get keepsProgress(): boolean {
    return this.#events.keepsProgress;
  }

  override emit(event: DispatchEvent): void {
    const { gates } = this.#message;
    if (gates?.isAbandoned ?? goesOn(event, this.#message)) return;
    this.#events.emit(ofAgent(this.#message, event));
  }
}

/** Whether an event is the end of a call that continues in the next process. */
function goesOn(event: DispatchEvent, message: RestartableMessage): boolean {
  if (event.type !== "tool.failed" || event.execution.error?.code !== "cancelled") return false;
  const isUndone = event.execution.error.effect === "none" && message.goesOn(event.parent);
  return isUndone || message.isSuspended(event.callId);
}
