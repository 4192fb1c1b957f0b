import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { Claim } from "../store/records.ts";
import type { CallTable } from "../store/store.ts";
import type { MessageCore } from "./core.ts";

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
