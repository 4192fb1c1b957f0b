import { type DispatchEvent, EventStream } from "../../engine/call/events.ts";
import { isRepeatable } from "../../engine/call/idempotency.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { Recorder, type RecordSink } from "../../engine/steps/record.ts";
import { requireClaimed } from "../../record/identity.ts";
import type { CallGates } from "../durable-runtime.ts";
import type { MessageLedger } from "../ledger/message-ledger.ts";
import type { ProvenanceLedger } from "../provenance.ts";
import type { CallTable } from "../store/store.ts";
import type { MessageCore, RestartableMessage } from "./core.ts";

/** What the records of a message's calls need of it. */
export interface RecordedMessage {
  readonly message: MessageCore & RestartableMessage;
  readonly registry: ToolRegistry;
  /** Where calls are claimed; `undefined` if they end with the process. */
  readonly store: Pick<CallTable, "claim"> | undefined;
  /** Of the only call, if a durable runtime has it dispatched: the runtime claims it, in place of the store. */
  readonly gates: CallGates | undefined;
  /** `undefined` if no policy depends on earlier calls. */
  readonly ledger: MessageLedger | undefined;
  /** `undefined` if calls are not recorded. */
  readonly journal: CallJournal | undefined;
  /** Where arguments came from; `undefined` unless the journal records it. */
  readonly provenance: ProvenanceLedger | undefined;
  /** Names the call that runs the agent whose message this is; `undefined` for a session of a person. */
  readonly agentOf: string | undefined;
}

type Sink = RecordSink<RecordedMessage>;

/** Takes the call in the store, so that it is not run again after a restart. */
const claim: Sink = {
  begin({ store, gates, message }, { parent, isSuspended, callId, toolName }) {
    // The claim of a nested call is that of its caller. A suspended one was claimed before: one process takes what was suspended.
    if (store === undefined || gates !== undefined || parent !== undefined || isSuspended === true)
      return undefined;
    const claimed = store.claim(message.identityOf(callId, toolName, null));
    return claimed instanceof Promise
      ? claimed.then(({ state }) => requireClaimed(state))
      : requireClaimed(claimed.state);
  },
};

/** Passes the gate of a durable runtime, which takes the call for this process. */
const gate: Sink = {
  begin({ gates, registry }, { parent, toolName, sideEffects }) {
    // The gate of a nested call is that of its caller.
    if (gates === undefined || parent !== undefined) return undefined;
    const tool = registry.find(toolName)?.tool;
    return gates.begin({ isRepeatable: tool !== undefined && isRepeatable(tool, sideEffects) });
  },
};

/** Enters the call for conditions on earlier calls. Every call that the policy was asked about gets here. */
const ledger: Sink = {
  // In the same commit as the claim.
  isAlongside: true,
  begin: ({ ledger }, record) => ledger?.record(record),
  end: ({ ledger }, record) => ledger?.recordEnd(record),
  deny: ({ ledger }, { callId }) => ledger?.release(callId),
};

/** Writes the record in the journal's chain, unless another process goes on with the call and records what becomes of it. */
const chain: Sink = {
  begin({ journal, provenance, agentOf }, record) {
    const own = ofAgent(agentOf, record);
    const sources = provenance?.sourcesOf(record.canonical.value);
    return journal?.begin(sources === undefined ? own : { ...own, sources });
  },
  end({ journal, message, gates, agentOf }, record) {
    const own = ofAgent(agentOf, record);
    const isSuspended = gates === undefined && message.isSuspended(record.callId);
    return journal?.end(isSuspended ? { ...own, isSuspended } : own);
  },
  deny({ journal, message, gates, agentOf }, record) {
    const { code, parent } = record;
    const goesOn = gates?.isAbandoned ?? (code === "cancelled" && message.goesOn(parent));
    return goesOn ? undefined : journal?.deny(ofAgent(agentOf, record));
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
export function recorderOf(recorded: RecordedMessage): CallJournal | undefined {
  const { store, gates, ledger, journal, provenance, agentOf } = recorded;
  const isClaimed = store !== undefined || gates !== undefined;
  // The journal alone costs less.
  if (!isClaimed && ledger === undefined && provenance === undefined && agentOf === undefined) return journal;
  // No call may run that is claimed already, whatever its class.
  return new Recorder(SINKS, recorded, isClaimed || journal?.awaitsEvery === true);
}

/** Names the call that runs the agent, except in records of calls that the agent's own tools make. */
function ofAgent<Of extends DispatchedRecord | EndedRecord | DeniedRecord | DispatchEvent>(
  agentOf: string | undefined,
  record: Of,
): Of {
  return agentOf === undefined ? record : { parent: agentOf, ...record };
}

/** Forwards the events of a message's calls, except the end of a call with which another process goes on. */
export class MessageEvents extends EventStream {
  readonly #events: EventStream;
  readonly #recorded: Pick<RecordedMessage, "message" | "gates" | "agentOf">;

  constructor(events: EventStream, recorded: Pick<RecordedMessage, "message" | "gates" | "agentOf">) {
    super();
    this.#events = events;
    this.#recorded = recorded;
  }

  override get listening(): boolean {
    return this.#events.listening;
  }

  override get keepsProgress(): boolean {
    return this.#events.keepsProgress;
  }

  override emit(event: DispatchEvent): void {
    const { gates, message, agentOf } = this.#recorded;
    if (gates?.isAbandoned ?? goesOn(event, message)) return;
    this.#events.emit(ofAgent(agentOf, event));
  }
}

/** Whether an event is the end of a call that continues in the next process. */
function goesOn(event: DispatchEvent, message: RestartableMessage): boolean {
  if (event.type !== "tool.failed" || event.execution.error?.code !== "cancelled") return false;
  const isUndone = event.execution.error.effect === "none" && message.goesOn(event.parent);
  return isUndone || message.isSuspended(event.callId);
}
