import type { Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import type { SessionInfo } from "../../tool/tool-traits.ts";
import {
  COMPLETE,
  findPrompt,
  findResource,
  GET_PROMPT,
  type MatchTemplate,
  READ_RESOURCE,
} from "./find-offer.ts";
import type { McpComplete, McpOffers } from "./mcp-offers.ts";

/**
 * The server from which something is imported. Clients cannot set it: it is looked up, so that the policy can
 * decide on it.
 */
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

/** Maximum number of suggestions in a completion (MCP). */
const MAX_VALUES = 100;

/** What a client wants to complete. */
interface CompletionInput {
  /** What the argument belongs to. */
  readonly ref: { readonly type: "ref/prompt" | "ref/resource"; readonly id: string };
  readonly argument: string;
  readonly value: string;
  /** The arguments that have values already. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly server?: string;
}

/** What can suggest values of an argument. */
interface Completion {
  readonly complete: McpComplete;
  readonly server: string | undefined;
}

const NO_VALUES: McpComplete = () => [];

/** Finds what suggests values of an argument; `undefined` if there is no such argument. */
export function findCompletion(
  offers: McpOffers,
  { ref, argument }: Pick<CompletionInput, "ref" | "argument">,
): Completion | undefined {
  if (ref.type === "ref/prompt") {
    const prompt = findPrompt(offers, ref.id);
    const found = prompt?.arguments?.find(({ name }) => name === argument);
    return found && { complete: found.complete ?? NO_VALUES, server: prompt?.server };
  }
  const template = offers.resourceTemplates?.find(({ uriTemplate }) => uriTemplate === ref.id);
  if (template === undefined) return undefined;
  const { complete = {}, server } = template;
  // The client chooses the name: it must not reach inherited properties.
  if (argument in Object.prototype && !Object.hasOwn(complete, argument)) return undefined;
  return {
    complete: Object.hasOwn(complete, argument) ? (complete[argument] ?? NO_VALUES) : NO_VALUES,
    server,
  };
}

/** The tool behind completions: what a user types may go to another server, so the policy decides on it. */
function completionTool(offers: McpOffers, traits: object): object {
  const text = { type: "string" };
  return {
    name: COMPLETE,
    description: "Suggests values of an argument for a client of MCP.",
    inputSchema: {
      type: "object",
      properties: {
        ref: {
          type: "object",
          properties: { type: { enum: ["ref/prompt", "ref/resource"] }, id: text },
          required: ["type", "id"],
          additionalProperties: false,
        },
        argument: text,
        value: text,
        arguments: { type: "object", additionalProperties: text },
        server: text,
      },
      required: ["ref", "argument", "value", "arguments"],
      additionalProperties: false,
    },
    ...traits,
    host: async (input: CompletionInput, context: HostContext) => {
      const found = findCompletion(offers, input);
      if (found === undefined || found.server !== input.server)
        throw new ToolFailure("execution_error", "There is nothing to complete");
      const all = await found.complete(input.value, input.arguments, context);
      const values = all.slice(0, MAX_VALUES);
      return { completion: { values, total: all.length, hasMore: all.length > values.length } };
    },
  };
}
