import { type DispatchEvent, EventStream } from "../../engine/call/events.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { RestartableMessage } from "./core.ts";

/**
 * Records no denial of a call that only waits when the process ends: it goes on in the next one, which records what becomes
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

/** Passes events on, except the end of a call that goes on in the next process. */
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
