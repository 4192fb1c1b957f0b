import type { McpOffers } from "./mcp-offers.ts";
import type { McpServerOptions } from "./options.ts";

type OfferOptions = Pick<McpServerOptions, "imported" | keyof McpOffers>;

/** Whether a server has resources or prompts, or may have them. */
export function hasOffers({ resources, resourceTemplates, prompts, imported }: OfferOptions): boolean {
  return [resources, resourceTemplates, prompts, imported].some((each) => each !== undefined);
}

/** What a server offers: its own, and then what imported servers offer. A list that it does not have is `undefined`. */
export function allOffers(own: OfferOptions): McpOffers {
  if (own.imported === undefined) return own;
  const { imported } = own;
  return {
    get resources() {
      return [...(own.resources ?? []), ...(imported().resources ?? [])];
    },
    get resourceTemplates() {
      return [...(own.resourceTemplates ?? []), ...(imported().resourceTemplates ?? [])];
    },
    get prompts() {
      return [...(own.prompts ?? []), ...(imported().prompts ?? [])];
    },
  };
}
