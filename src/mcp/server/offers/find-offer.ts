import type { McpOffers, McpPrompt, McpResource, McpResourceTemplate } from "../mcp-offers.ts";

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
export type FoundResource = Pick<McpResource, "read" | "server">;

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
