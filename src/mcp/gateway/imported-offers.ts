import type { JsonObject } from "../../json/value.ts";
import type { McpOffers, McpPrompt, McpResource, McpResourceTemplate } from "../server/mcp-offers.ts";
import type { ListedOffer } from "./listed-offer.ts";
import { type OfferLinks, promptOf, resourceOf, templateOf } from "./passed-offers.ts";
import type { ServerOffers } from "./server-offers.ts";

/** What {@link ImportedOffers} are made of. */
export interface ImportedOffersOptions extends OfferLinks {
  /** Whether a pinned definition is approved. */
  readonly isApproved: (name: string, definition: JsonObject) => boolean;
  /** The name of a prompt at clients. */
  readonly promptName: (server: string, original: string) => string;
}

/** An offer, as it is made once for the lists that have it. */
interface Made {
  readonly offer: ListedOffer;
  readonly server: ServerOffers;
}

/**
 * The resources, resource templates and prompts of all imported servers, as the MCP server offers them. Only what is approved
 * is listed. A URI, a template or a prompt's name that two servers want belongs to neither.
 */
export class ImportedOffers implements McpOffers {
  readonly #servers: () => Iterable<ServerOffers>;
  readonly #options: ImportedOffersOptions;
  /** Whether each is approved, so that its digest is made once. */
  readonly #approved = new WeakMap<ListedOffer, boolean>();

  constructor(servers: () => Iterable<ServerOffers>, options: ImportedOffersOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  get resources(): readonly McpResource[] {
    return this.#unique("resources", ({ id }) => id).map(({ offer, server }) =>
      resourceOf(offer, server, this.#options),
    );
  }

  get resourceTemplates(): readonly McpResourceTemplate[] {
    return this.#unique("resourceTemplates", ({ id }) => id).map(({ offer, server }) =>
      templateOf(offer, server, this.#options),
    );
  }

  get prompts(): readonly McpPrompt[] {
    const { promptName } = this.#options;
    const nameOf = ({ id }: ListedOffer, { connection }: ServerOffers): string =>
      promptName(connection.name, id);
    return this.#unique("prompts", nameOf).map(({ offer, server }) =>
      promptOf(nameOf(offer, server), offer, server, this.#options),
    );
  }

  #unique(
    kind: ListedOffer["kind"],
    keyOf: (offer: ListedOffer, server: ServerOffers) => string,
  ): readonly Made[] {
    const byKey = new Map<string, Made | undefined>();
    for (const server of this.#servers()) {
      for (const offer of server.offers) {
        if (offer.kind !== kind || !this.#isApproved(offer, server)) continue;
        const key = keyOf(offer, server);
        byKey.set(key, byKey.has(key) ? undefined : { offer, server });
      }
    }
    return [...byKey.values()].filter((made) => made !== undefined);
  }

  #isApproved(offer: ListedOffer, server: ServerOffers): boolean {
    let isApproved = this.#approved.get(offer);
    if (isApproved === undefined) {
      const { name, definition } = server.pinOf(offer);
      isApproved = this.#options.isApproved(name, definition);
      this.#approved.set(offer, isApproved);
    }
    return isApproved;
  }
}
