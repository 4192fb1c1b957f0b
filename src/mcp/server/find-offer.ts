import { hash } from "node:crypto";
import type { McpOffers, McpPrompt, McpResource, McpResourceTemplate } from "./mcp-offers.ts";
import type { Sdk } from "./options.ts";

/** The tool through which resources are read. Rules name it, and `/uri`. No list has it. */
export const READ_RESOURCE = "resources/read";
/** The tool through which prompts are read: `/name` and `/arguments`. */
export const GET_PROMPT = "prompts/get";

/** The tool through which values of arguments are suggested: `/ref`, `/argument`, `/value` and `/arguments`. */
export const COMPLETE = "completion/complete";
/** The tools of offers, which no list of tools has. */
export const OFFER_TOOLS: ReadonlySet<string> = new Set([READ_RESOURCE, GET_PROMPT, COMPLETE]);

/** Longer URIs are no resource's. */
const MAX_URI_CHARS = 8_192;

/** Matches a URI with a template. */
export type MatchTemplate = (
  uriTemplate: string,
  uri: string,
) => Readonly<Record<string, string | readonly string[]>> | null;

/**
 * Finds the resource of a URI; `undefined` if there is none. The server's own resources come first. A URI
 * that several imported servers list or match with a template is not found, since the result must not depend
 * on their order.
 */
export function findResource(
  { resources = [], resourceTemplates = [] }: McpOffers,
  uri: string,
  match: MatchTemplate,
): FoundResource | undefined {
  if (uri.length > MAX_URI_CHARS) return undefined;
  const found = [
    ...resources.filter((resource) => resource.uri === uri),
    ...findInTemplates(resourceTemplates, uri, match),
  ];
  const own = found.find(({ server }) => server === undefined);
  const servers = new Set(found.map(({ server }) => server));
  return own ?? (servers.size === 1 ? found[0] : undefined);
}

/** A resource, as it is read. */
type FoundResource = Pick<McpResource, "read" | "server">;

function* findInTemplates(
  templates: readonly McpResourceTemplate[],
  uri: string,
  match: MatchTemplate,
): Generator<FoundResource> {
  for (const { uriTemplate, matches, read, server } of templates) {
    const variables = matches === undefined ? match(uriTemplate, uri) : matches(uri) ? {} : null;
    const named = server === undefined ? {} : { server };
    if (variables !== null) yield { ...named, read: (context) => read(uri, variables, context) };
  }
}

/** Finds a prompt. The server's own come first. */
export function findPrompt({ prompts = [] }: McpOffers, name: string): McpPrompt | undefined {
  const found = prompts.filter((prompt) => prompt.name === name);
  return found.find(({ server }) => server === undefined) ?? found[0];
}

/**
 * Maximum number of items of a page. Most clients get everything at once, since some ask for the first page
 * only.
 */
const MAX_ITEMS = 1_000;
/** Maximum number of characters of a page. A single item may have more. */
const MAX_CHARS = 2 * 1_024 * 1_024;

/** A page of a list, with the cursor of the next one if there is one. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: { readonly nextCursor?: string };
}

/**
 * Returns a page of a list. A cursor is the digest of the last item's key: it reveals nothing, always has the
 * same length, needs no state on the server, and leads only to items that the client may see anyway.
 *
 * @param cursor What the client sent. Default: the first page.
 * @param keyOf Returns what identifies an item.
 * @throws an error of the SDK if the cursor is unknown, for example because its item has been removed.
 */
export function pageOf<Item>(
  sdk: Sdk,
  list: readonly Item[],
  cursor: string | undefined,
  keyOf: (item: Item) => string,
): Page<Item> {
  const before = cursor === undefined ? -1 : list.findIndex((item) => cursorOf(keyOf(item)) === cursor);
  if (cursor !== undefined && before < 0) {
    const message = "The cursor leads nowhere: list again without it";
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
  }
  const items: Item[] = [];
  let chars = 0;
  for (const item of list.slice(before + 1, before + 1 + MAX_ITEMS)) {
    chars += JSON.stringify(item).length;
    if (items.length > 0 && chars > MAX_CHARS) break;
    items.push(item);
  }
  const last = items.at(-1);
  const isEnd = last === undefined || before + 1 + items.length >= list.length;
  return { items, next: isEnd ? {} : { nextCursor: cursorOf(keyOf(last)) } };
}

function cursorOf(key: string): string {
  return hash("sha256", key, "base64url");
}
