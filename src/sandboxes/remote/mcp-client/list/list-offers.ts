import type { JsonObject, JsonValue } from "../../../../json/value.ts";
import { type ListRequest, listPages } from "./list-pages.ts";

/** The most resources, templates and prompts of a server, each. */
const MAX_OFFERS = 10_000;

/** The error of JSON-RPC for a method that a server does not have. */
const METHOD_NOT_FOUND = -32_601;

/** The lists of a server besides its tools, and what has to be among its capabilities for each. */
const LISTS = [
  { capability: "resources", method: "resources/list", member: "resources" },
  { capability: "resources", method: "resources/templates/list", member: "resourceTemplates" },
  { capability: "prompts", method: "prompts/list", member: "prompts" },
] as const;

/** Which list of a server something is in. */
export type OfferKind = (typeof LISTS)[number]["member"];

/** What a server offers besides its tools, as it sent it. */
export interface ListedOffers {
  readonly items: Readonly<Record<OfferKind, readonly JsonValue[]>>;
  /** One line for each list that cannot be used. */
  readonly problems: readonly string[];
  /** Milliseconds after which the lists should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/** Reads the lists of a server besides that of its tools. A list that cannot be used costs itself. */
export async function listOffers(request: ListRequest, capabilities: JsonObject): Promise<ListedOffers> {
  const items: Record<OfferKind, readonly JsonValue[]> = {
    resources: [],
    resourceTemplates: [],
    prompts: [],
  };
  const problems: string[] = [];
  const ttls: number[] = [];
  const lists = LISTS.filter(({ capability }) => capabilities[capability] !== undefined);
  const read = lists.map(async ({ method, member }) => {
    try {
      const pages = await listPages(request, { method, member, maxItems: MAX_OFFERS });
      items[member] = pages.items;
      problems.push(...pages.problems);
      if (pages.ttlMs !== undefined) ttls.push(pages.ttlMs);
    } catch (error) {
      // Servers with resources need not have templates.
      if (member === "resourceTemplates" && isMissing(error)) return;
      problems.push(
        `its ${member} cannot be listed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  });
  await Promise.all(read);
  return { items, problems, ttlMs: ttls.length === 0 ? undefined : Math.min(...ttls) };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === METHOD_NOT_FOUND;
}
