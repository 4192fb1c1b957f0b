import type { StorePlace } from "../objects/object-keys.ts";
import type { StoreClient } from "../store/store-client.ts";
import { type ListedInquiry, openInquiriesObject } from "./open-inquiry-handlers.ts";

/** Lists the inquiries of all processes that are open. */
export class OpenInquiryList {
  readonly #client: StoreClient;
  readonly #place: StorePlace;

  /** @param client That of the store: the list is read each second, so that it knows at any time whether Restate answers. */
  constructor(client: StoreClient, place: StorePlace) {
    this.#client = client;
    this.#place = place;
  }

  /** Returns `false` if too many inquiries are open. */
  put(inquiry: ListedInquiry): Promise<boolean> {
    return this.#client.write(openInquiriesObject(this.#place), "put", inquiry);
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#client.write(openInquiriesObject(this.#place), "remove", ids);
  }

  list(): Promise<readonly ListedInquiry[]> {
    return this.#client.read(openInquiriesObject(this.#place), "list");
  }
}
