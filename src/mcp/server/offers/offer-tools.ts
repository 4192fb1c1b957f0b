import type { Tool } from "../../../engine/tool.ts";
import type { HostContext } from "../../../tool/implementations/host-implementation.ts";
import { ToolFailure } from "../../../tool/tool-failure.ts";
import type { SessionInfo } from "../../../tool/tool-traits.ts";
import type { McpOffers, McpResource, McpResourceTemplate } from "../mcp-offers.ts";

/** The tool through which resources are read. Rules name it, and `/uri`. No list has it. */
export const READ_RESOURCE = "resources/read";
/** The tool through which prompts are read: `/name` and `/arguments`. */
export const GET_PROMPT = "prompts/get";

/** Longer URIs are no resource's. */
const MAX_URI_CHARS = 8_192;

/** Matches a URI with a template. */
export type MatchTemplate = (
  uriTemplate: string,
  uri: string,
) => Readonly<Record<string, string | readonly string[]>> | null;

/** Finds the resource of a URI; `undefined` if there is none. */
export function findResource(
  { resources = [], resourceTemplates = [] }: McpOffers,
  uri: string,
  match: MatchTemplate,
): Pick<McpResource, "read"> | undefined {
  if (uri.length > MAX_URI_CHARS) return undefined;
  const direct = resources.find((resource) => resource.uri === uri);
  return direct ?? findInTemplates(resourceTemplates, uri, match);
}

function findInTemplates(
  templates: readonly McpResourceTemplate[],
  uri: string,
  match: MatchTemplate,
): Pick<McpResource, "read"> | undefined {
  for (const template of templates) {
    const variables = match(template.uriTemplate, uri);
    if (variables !== null) return { read: (context) => template.read(uri, variables, context) };
  }
  return undefined;
}

/**
 * The tools behind resources and prompts: reading one is a call like any other, of the class `read`.
 *
 * @param isOwn Whether a session is one of the MCP server's: no other session sees these tools.
 */
export function offerTools(
  offers: McpOffers,
  match: MatchTemplate,
  isOwn: (sessionId: string) => boolean,
): readonly Tool[] {
  const visibleTo = ({ id }: SessionInfo): boolean => isOwn(id);
  const traits = { sideEffects: "read", visibleTo, tags: Object.freeze(["mcp"]) } as const;
  return [
    {
      name: READ_RESOURCE,
      description: "Reads a resource for a client of MCP.",
      inputSchema: {
        type: "object",
        properties: { uri: { type: "string" } },
        required: ["uri"],
        additionalProperties: false,
      },
      ...traits,
      host: ({ uri }: { uri: string }, context: HostContext) => {
        const resource = findResource(offers, uri, match);
        if (resource === undefined) throw new ToolFailure("execution_error", "Resource not found");
        return resource.read(context);
      },
    } as Tool,
    {
      name: GET_PROMPT,
      description: "Writes the messages of a prompt for a client of MCP.",
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string" },
          arguments: { type: "object", additionalProperties: { type: "string" } },
        },
        required: ["name", "arguments"],
        additionalProperties: false,
      },
      ...traits,
      host: (input: { name: string; arguments: Record<string, string> }, context: HostContext) => {
        const prompt = offers.prompts?.find(({ name }) => name === input.name);
        if (prompt === undefined) throw new ToolFailure("execution_error", "Prompt not found");
        return prompt.get(input.arguments, context);
      },
    } as Tool,
  ];
}
