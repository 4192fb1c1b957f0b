import type { Tool } from "../../../engine/tool.ts";
import type { HostContext } from "../../../tool/implementations/implementations.ts";
import { ToolFailure } from "../../../tool/tool-failure.ts";
import type { SessionInfo } from "../../../tool/tool-traits.ts";
import type { McpOffers } from "../mcp-offers.ts";
import { completionTool } from "./completions.ts";
import { findPrompt, findResource, GET_PROMPT, type MatchTemplate, READ_RESOURCE } from "./find-offer.ts";

/** The server that something is imported from. A client cannot give it: it is found, and the policy can decide on it. */
const SERVER = { type: "string" } as const;

interface PromptInput {
  readonly name: string;
  readonly arguments: Record<string, string>;
  readonly server?: string;
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
        properties: { uri: { type: "string" }, server: SERVER },
        required: ["uri"],
        additionalProperties: false,
      },
      ...traits,
      host: ({ uri, server }: { uri: string; server?: string }, context: HostContext) => {
        const resource = findResource(offers, uri, match);
        if (resource === undefined || resource.server !== server)
          throw new ToolFailure("execution_error", "Resource not found");
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
          server: SERVER,
        },
        required: ["name", "arguments"],
        additionalProperties: false,
      },
      ...traits,
      host: (input: PromptInput, context: HostContext) => {
        const prompt = findPrompt(offers, input.name);
        if (prompt === undefined || prompt.server !== input.server)
          throw new ToolFailure("execution_error", "Prompt not found");
        return prompt.get(input.arguments, context);
      },
    } as Tool,
    completionTool(offers, traits) as Tool,
  ];
}
