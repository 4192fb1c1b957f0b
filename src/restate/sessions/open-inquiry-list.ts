import { randomUUID } from "node:crypto";
import type { Ingress } from "../connection/ingress.ts";
import type { StorePlace } from "../objects/object-keys.ts";
import { type ListedInquiry, openInquiriesObject } from "./open-inquiry-handlers.ts";

/** Lists the inquiries of all processes that are open. */
export class OpenInquiryList {
  readonly #ingress: Ingress;
  readonly #place: StorePlace;

  constructor(ingress: Ingress, place: StorePlace) {
    this.#ingress = ingress;
    this.#place = place;
  }

  /** Returns `false` if too many inquiries are open. */
  put(inquiry: ListedInquiry): Promise<boolean> {
    return this.#call("put", inquiry);
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#call("remove", ids);
  }

  list(): Promise<readonly ListedInquiry[]> {
    return this.#ingress.call({
      ...openInquiriesObject(this.#place),
      handler: "list",
      idempotencyKey: undefined,
    });
  }

  #call<Result>(handler: string, input: unknown): Promise<Result> {
    const idempotencyKey = randomUUID();
    return this.#ingress.call({ ...openInquiriesObject(this.#place), handler, input, idempotencyKey });
  }
}
