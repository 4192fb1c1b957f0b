import { FairBudget } from "../../base/fair-budget.ts";
import type { Client } from "../access/client.ts";
import type { Exchange } from "./exchange.ts";
import { revoked as credentialRevoked, overloaded } from "./refusals.ts";

/** How many requests read the journal at once, and how many of them are of one client. */
const MAX_READS = 8;
const MAX_OWN_READS = 2;

/** Bounds how many requests read much at once. */
export class Reads {
  readonly #open = new FairBudget(MAX_READS, 1, MAX_OWN_READS);

  /**
   * Reads for a request.
   *
   * @param read Must end when the signal is aborted: the connection was closed, or the credential revoked.
   * @throws {RouteRefusal} 429 as a rejection, if too many requests read.
   */
  async run<Result>(
    { client: { name }, closed, revoked }: Pick<Exchange, "closed" | "revoked"> & { readonly client: Client },
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#open.take(name, 1)) throw overloaded("too many requests read the journal: retry later");
    try {
      return await read(AbortSignal.any([closed, revoked]));
    } catch (error) {
      throw revoked.aborted ? credentialRevoked() : error;
    } finally {
      this.#open.giveBack(name, 1);
    }
  }
}
