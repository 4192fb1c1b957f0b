import { EventStream } from "../../engine/call/events.ts";
import { isRepeatable } from "../../engine/call/idempotency.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { CallGates } from "../durable/call-gates.ts";

/** Passes the gate of a call before it is recorded. Records nothing of a call that goes on in another process. */
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

/** Returns a stream that passes the events of a call on, until the call goes on in another process. */
export function gatedEvents(events: EventStream, gates: CallGates): EventStream {
  const own = new EventStream();
  own.on((event) => {
    if (!gates.isAbandoned) events.emit(event);
  });
  return own;
}
