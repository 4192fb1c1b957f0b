import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/host-implementation.ts";
import { declare, firstSentence } from "./describe-tools.ts";
import { ToolIndex } from "./tool-index.ts";

const SEARCH_TOOLS = "search_tools";
const DESCRIBE_TOOLS = "describe_tools";

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 50;
const MAX_SUMMARY_LENGTH = 200;
const MAX_NAMES = 50;

/**
 * Returns the tools with which a model, or a program of it, finds tools and learns their types. They tell of a tool only
 * to a caller that can call it.
 *
 * @param prefix What the names of the toolset begin with.
 * @param leftOut The names of further tools of it, which are never found.
 */
export function catalogueTools(
  registry: ToolRegistry<never>,
  prefix: string,
  leftOut: readonly string[],
): readonly Tool[] {
  const never = [...leftOut, SEARCH_TOOLS, DESCRIBE_TOOLS].map((name) => prefix + name);
  const index = new ToolIndex(registry, never);
  const search = (
    { query, limit = DEFAULT_LIMIT }: { readonly query: string; readonly limit?: number },
    { canCall }: HostContext,
  ) =>
    index
      .search(query, limit, (name) => canCall?.(name) === true)
      .map(({ name, description }) => ({
        name,
        description: firstSentence(description).slice(0, MAX_SUMMARY_LENGTH),
      }));
  const describe = ({ names }: { readonly names: readonly string[] }, { canCall }: HostContext) => {
    const known = names.filter((name) => canCall?.(name) === true && registry.has(name));
    const unknown = names.filter((name) => !known.includes(name));
    const declarations = declare(
      known.map((name) => registry.get(name)),
      "full",
    );
    return { declarations, ...(unknown.length > 0 && { unknown }) };
  };
  return [
    {
      name: SEARCH_TOOLS,
      title: "Find tools",
      description:
        "Finds tools by what they do. Returns [{ name, description }], the best one first. describe_tools tells how they are called.",
      sideEffects: "none",
      searchesTools: true,
      inputSchema: {
        type: "object",
        properties: {
          query: {
            type: "string",
            minLength: 1,
            maxLength: 1_000,
            description: "What the tool should do, in a few words",
          },
          limit: {
            type: "integer",
            minimum: 1,
            maximum: MAX_LIMIT,
            description: `How many to return. Default: ${DEFAULT_LIMIT}`,
          },
        },
        required: ["query"],
        additionalProperties: false,
      },
      host: search as never,
    },
    {
      name: DESCRIBE_TOOLS,
      title: "Describe tools",
      description:
        "Returns { declarations }: the TypeScript types of tools, as a program calls them. { unknown } has the names of tools that cannot be called.",
      sideEffects: "none",
      searchesTools: true,
      inputSchema: {
        type: "object",
        properties: {
          names: {
            type: "array",
            items: { type: "string", maxLength: 128 },
            minItems: 1,
            maxItems: MAX_NAMES,
            description: "The names of the tools",
          },
        },
        required: ["names"],
        additionalProperties: false,
      },
      host: describe as never,
    },
  ];
}
