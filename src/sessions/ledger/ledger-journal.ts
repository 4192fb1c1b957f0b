import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { ErrorCode } from "../../engine/errors.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import type { MessageLedger } from "./message-ledger.ts";

/** With the effect `none`, these mean that the call never ran. */
const NEVER_RAN: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "cancelled",
  "limit_unenforceable",
  "sandbox_unavailable",
]);

/** Tells the ledger of a message what became of its calls. Every call that the policy was asked about gets here. */
export class LedgerJournal implements CallJournal {
  readonly #ledger: MessageLedger;
  readonly #journal: CallJournal | undefined;
  /** The calls under way of tools that change nothing. */
  readonly #reading = new Set<string>();

  constructor(ledger: MessageLedger, journal: CallJournal | undefined) {
    this.#ledger = ledger;
    this.#journal = journal;
  }

  get awaitsEvery(): boolean {
    return this.#journal?.awaitsEvery === true;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    if (changesNothing(record.sideEffects)) this.#reading.add(record.callId);
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

  end(record: EndedRecord): unknown {
    const { callId, code, success, effect } = record;
    // Of a call that only reads, the effect says nothing: it may have read before it failed.
    const isReading = this.#reading.delete(callId);
    if (effect === "none" && (!isReading || NEVER_RAN.has(code))) this.#ledger.release(callId);
    else this.#ledger.end(callId, success);
    return this.#journal?.end(record);
  }

  deny(record: DeniedRecord): unknown {
    this.#reading.delete(record.callId);
    this.#ledger.release(record.callId);
    return this.#journal?.deny(record);
  }
}
