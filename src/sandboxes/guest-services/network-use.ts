import type { Contact, Traffic } from "../../egress/egress-error.ts";

/** Adds up what the HTTP requests of one call sent and received. */
export class NetworkUse {
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;

  /** Counts the traffic of one request, with or without a response. */
  add({ contacted, bytesUp, bytesDown }: Traffic): void {
    this.#contacted.push(...contacted);
    this.#bytesUp += bytesUp;
    this.#bytesDown += bytesDown;
  }

  /** Bytes in both directions: what the limit `netBytes` bounds. */
  get bytes(): number {
    return this.#bytesUp + this.#bytesDown;
  }

  /** The traffic for the receipt; `undefined` if no request was sent. */
  get traffic(): Traffic | undefined {
    if (this.#contacted.length === 0) return undefined;
    return { contacted: this.#contacted, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }
}
