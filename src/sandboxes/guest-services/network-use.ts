import type { Contact, Traffic } from "../../egress/egress-error.ts";

/** What the requests of one call sent and received over the network. */
export class NetworkUse {
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;

  /** Counts what went over the network for one request, whether it has a response or not. */
  add({ contacted, bytesUp, bytesDown }: Traffic): void {
    this.#contacted.push(...contacted);
    this.#bytesUp += bytesUp;
    this.#bytesDown += bytesDown;
  }

  /** Bytes in both directions: what the limit `netBytes` bounds. */
  get bytes(): number {
    return this.#bytesUp + this.#bytesDown;
  }

  /** What a receipt says of it; `undefined` where nothing left. */
  get traffic(): Traffic | undefined {
    if (this.#contacted.length === 0) return undefined;
    return { contacted: this.#contacted, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }
}
