import type { JsonObject } from "../../json/value.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import { type ListedOffer, readOffers } from "./listed-offer.ts";

/** The resources, templates and prompts of one server. */
export class ServerOffers {
  readonly #connection: McpConnection;
  #offers: readonly ListedOffer[] = [];
  #serverName: string | null = null;
  #completes = false;
  #ttlMs: number | undefined;

  constructor(connection: McpConnection) {
    this.#connection = connection;
  }

  get connection(): McpConnection {
    return this.#connection;
  }

  get offers(): readonly ListedOffer[] {
    return this.#offers;
  }

  /** Whether the server suggests values of arguments. */
  get completes(): boolean {
    return this.#completes;
  }

  /** Milliseconds for which the lists are valid; `undefined` if the server did not say. */
  get ttlMs(): number | undefined {
    return this.#ttlMs;
  }

  /** What is pinned of an offer, and under which name: the name of a server has no `/`. */
  pinOf({ kind, id, listed }: ListedOffer): { readonly name: string; readonly definition: JsonObject } {
    const definition = { serverName: this.#serverName, kind, listed };
    return { name: `${this.#connection.name}/${kind}/${id}`, definition };
  }

  /** Reads the lists. Returns a line for each problem, which may have text of the server. */
  async refresh(isCurrent: () => boolean, turn?: Promise<unknown>): Promise<readonly string[]> {
    const listed = await this.#connection.listOffers();
    const { info } = this.#connection;
    await turn;
    if (!isCurrent()) return [];
    const { offers, problems } = readOffers(listed);
    this.#offers = offers;
    this.#serverName = info?.name ?? null;
    this.#completes = info?.capabilities["completions"] !== undefined;
    this.#ttlMs = listed.ttlMs;
    return [...listed.problems, ...problems];
  }
}
