import { type DispatchEvent, EventStream } from "../../engine/call/events.ts";
import { isRepeatable } from "../../engine/call/idempotency.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { CallGates } from "../durable-runtime.ts";
import type { ProvenanceLedger } from "../provenance.ts";
import type { CallTable, Claim } from "../store/store.ts";
import type { MessageCore, RestartableMessage } from "./core.ts";

/** Claims each call of a message before it runs, so that it is not run again after a restart; then records it. */
export class RecordedCalls implements CallJournal {
  /** No call may run that is claimed already, whatever its class. */
  readonly awaitsEvery = true;
  readonly #message: MessageCore;
  readonly #store: Pick<CallTable, "claim">;
  readonly #journal: CallJournal | undefined;

  constructor(message: MessageCore, store: Pick<CallTable, "claim">, journal: CallJournal | undefined) {
    this.#message = message;
    this.#store = store;
    this.#journal = journal;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    // The claim of a nested call is that of its caller.
    if (record.parent !== undefined) return this.#journal?.begin(record);
    // It was claimed before it was suspended. One process takes what was suspended.
    if (record.isSuspended === true) return this.#journal?.begin(record);
    const claim = this.#store.claim(this.#message.identityOf(record.callId, record.toolName, null));
    if (claim instanceof Promise) return this.#beginLater(claim, record);
    checkClaim(claim);
    return this.#journal?.begin(record);
  }

  async #beginLater(claim: Promise<Claim>, record: DispatchedRecord): Promise<void> {
    checkClaim(await claim);
    await this.#journal?.begin(record);
  }

  end(record: EndedRecord): unknown {
    return this.#journal?.end(record);
  }

  deny(record: DeniedRecord): unknown {
    return this.#journal?.deny(record);
  }
}

/** @throws {Error} unless the call is to be run now. */
function checkClaim({ state }: Claim): void {
  if (state !== "fresh") throw new Error(`the call cannot begin: it is in the state '${state}'`);
}

/**
 * Records no denial of a call that only waits when the process ends: it continues in the next one, which records what becomes
 * of it. The end of a call that was suspended says so.
 */
export class LeavingJournal implements CallJournal {
  readonly #journal: CallJournal;
  readonly #message: RestartableMessage;

  constructor(journal: CallJournal, message: RestartableMessage) {
    this.#journal = journal;
    this.#message = message;
  }

  get awaitsEvery(): boolean {
    return this.#journal.awaitsEvery === true;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#journal.begin(record);
  }

  end(record: EndedRecord): unknown {
    const isSuspended = this.#message.isSuspended(record.callId);
    return this.#journal.end(isSuspended ? { ...record, isSuspended } : record);
  }

  deny(record: DeniedRecord): unknown {
    if (record.code === "cancelled" && this.#message.goesOn(record.parent)) return undefined;
    return this.#journal.deny(record);
  }
}

/** Forwards events, except the end of a call that continues in the next process. */
export class LeavingEvents extends EventStream {
  readonly #events: EventStream;
  readonly #message: RestartableMessage;

  constructor(events: EventStream, message: RestartableMessage) {
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
    if (event.type === "tool.failed") {
      const { callId, parent, execution } = event;
      const { code, effect } = execution.error ?? {};
      const goesOn = effect === "none" && this.#message.goesOn(parent);
      if (code === "cancelled" && (goesOn || this.#message.isSuspended(callId))) return;
    }
    this.#events.emit(event);
  }
}

/** Passes the gate of a call before it is recorded. Records nothing of a call that continues in another process. */
export class GatedJournal implements CallJournal {
  readonly awaitsEvery = true;
  readonly #gates: CallGates;
  readonly #registry: ToolRegistry;
  readonly #journal: CallJournal | undefined;

  constructor(gates: CallGates, registry: ToolRegistry, journal: CallJournal | undefined) {
    this.#gates = gates;
    this.#registry = registry;
    this.#journal = journal;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    // The gate of a nested call is that of its caller.
    return record.parent === undefined ? this.#begin(record) : this.#journal?.begin(record);
  }

  async #begin(record: DispatchedRecord): Promise<void> {
    const { toolName, sideEffects } = record;
    const tool = this.#registry.find(toolName)?.tool;
    await this.#gates.begin({ isRepeatable: tool !== undefined && isRepeatable(tool, sideEffects) });
    await this.#journal?.begin(record);
  }

  end(record: EndedRecord): unknown {
    return this.#journal?.end(record);
  }

  deny(record: DeniedRecord): unknown {
    return this.#gates.isAbandoned ? undefined : this.#journal?.deny(record);
  }
}

/** Returns a stream that forwards the events of a call, until the call continues in another process. */
export function gatedEvents(events: EventStream, gates: CallGates): EventStream {
  const own = new EventStream();
  own.on((event) => {
    if (!gates.isAbandoned) events.emit(event);
  });
  return own;
}

/** Says in the records of calls that run where their arguments came from. */
export class SourcesJournal implements CallJournal {
  readonly #journal: CallJournal;
  readonly #provenance: ProvenanceLedger;

  constructor(journal: CallJournal, provenance: ProvenanceLedger) {
    this.#journal = journal;
    this.#provenance = provenance;
  }

  get awaitsEvery(): boolean {
    return this.#journal.awaitsEvery === true;
  }

  get problem(): string | undefined {
    return this.#journal.problem;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#journal.begin({ ...record, sources: this.#provenance.sourcesOf(record.canonical.value) });
  }

  end(record: EndedRecord): unknown {
    return this.#journal.end(record);
  }

  deny(record: DeniedRecord): unknown {
    return this.#journal.deny(record);
  }
}

/** Records calls of an agent with the call that runs it as their `parent`, except those that their own tools make. */
export class AgentJournal implements CallJournal {
  readonly #journal: CallJournal;
  readonly #parent: string;

  constructor(journal: CallJournal, parent: string) {
    this.#journal = journal;
    this.#parent = parent;
  }

  get awaitsEvery(): boolean {
    return this.#journal.awaitsEvery === true;
  }

  get problem(): string | undefined {
    return this.#journal.problem;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#journal.begin({ parent: this.#parent, ...record });
  }

  end(record: EndedRecord): unknown {
    return this.#journal.end({ parent: this.#parent, ...record });
  }

  deny(record: DeniedRecord): unknown {
    return this.#journal.deny({ parent: this.#parent, ...record });
  }
}

/** Returns a stream that forwards events of an agent's calls, with the call that runs it as their `parent`. */
export function agentEvents(events: EventStream, parent: string): EventStream {
  const own = new EventStream();
  own.on((event) => events.emit({ parent, ...event }));
  return own;
}
