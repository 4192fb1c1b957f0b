import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { MessageLedger } from "./message-ledger.ts";

/** Tells the ledger of a message what became of its calls. Every call that the policy was asked about gets here. */
export class LedgerJournal implements CallJournal {
  readonly #ledger: MessageLedger;
  readonly #journal: CallJournal | undefined;

  constructor(ledger: MessageLedger, journal: CallJournal | undefined) {
    this.#ledger = ledger;
    this.#journal = journal;
  }

  get awaitsEvery(): boolean {
    return this.#journal?.awaitsEvery === true;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    const kept = this.#ledger.keep(record.callId, record.confirmation !== undefined);
    try {
      const recorded = this.#journal?.begin(record);
      return kept === undefined || recorded === undefined
        ? (kept ?? recorded)
        : Promise.all([kept, recorded]).then(() => {});
    } catch (error) {
      // The call is refused already. An unhandled rejection would end the process.
      kept?.catch(() => {});
      throw error;
    }
  }

  end(record: EndedRecord): void {
    const { callId, success, effect } = record;
    if (effect === "none") this.#ledger.release(callId);
    else this.#ledger.end(callId, success);
    this.#journal?.end(record);
  }

  deny(record: DeniedRecord): void {
    this.#ledger.release(record.callId);
    this.#journal?.deny(record);
  }
}
