import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import { declare, firstSentence } from "./describe-tools.ts";
import { withSelf } from "./query-words.ts";
import { type SearchDocument, type SearchFields, SearchIndex } from "./search-index.ts";

/** Maximum number of parameters of a tool that are indexed. */
const MAX_PARAMETERS = 64;

/** The first sentence or line of a description, which says what the tool does. */
const SUMMARY = /^\s*[^\n]*?(?:[.!?](?=\s)|\n|$)/;

/** Finds tools of a registry by what their names, descriptions and parameters say. */
export class ToolIndex {
  readonly #registry: ToolRegistry<never>;
  readonly #leftOut: ReadonlySet<string>;
  #revision: number | undefined;
  #tools: readonly Tool<never, never>[] = [];
  #index = new SearchIndex([]);

  /** @param leftOut The names of tools that are never found. */
  constructor(registry: ToolRegistry<never>, leftOut: readonly string[]) {
    this.#registry = registry;
    this.#leftOut = new Set(leftOut);
  }

  /**
   * Returns the tools that match a query best, the best one first. After a change of the registry, the first search indexes
   * all tools, which takes about 10 ms for 1,000.
   */
  search(query: string, limit: number, accepts: (name: string) => boolean): readonly Tool<never, never>[] {
    if (this.#revision !== this.#registry.revision) this.#build();
    const nameOf = (index: number): string => (this.#tools[index] as Tool).name;
    const found = this.#index.search(query, limit, (index) => accepts(nameOf(index)));
    return found.map((index) => this.#tools[index] as Tool<never, never>);
  }

  #build(): void {
    this.#revision = this.#registry.revision;
    this.#tools = this.#registry.tools.filter(({ name }) => !this.#leftOut.has(name));
    this.#index = new SearchIndex(this.#tools.map(documentOf));
  }
}

const SEARCH_TOOLS = "search_tools";
const DESCRIBE_TOOLS = "describe_tools";

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 50;
const MAX_SUMMARY_LENGTH = 200;
const MAX_NAMES = 50;

/**
 * Returns the tools with which a model, or a program of it, finds tools and learns their types. They list a
 * tool only for a caller that can call it.
 *
 * @param prefix The prefix of the names of the toolset.
 * @param leftOut The names of further tools of the toolset, which are never listed.
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

function documentOf(tool: Tool<never, never>): SearchDocument {
  const { sideEffects } = tool;
  return { fields: fieldsOf(tool), answers: sideEffects !== undefined && changesNothing(sideEffects) };
}

function fieldsOf({ name, title, description, inputSchema, tags }: Tool<never, never>): SearchFields {
  const parameters = parametersOf(inputSchema);
  const [summary = ""] = SUMMARY.exec(description) ?? [];
  return {
    name: { text: withSelf(name), weight: 2.5 },
    title: { text: [title ?? "", ...(tags ?? [])].join(" "), weight: 1 },
    description: { text: summary, weight: 1.5 },
    more: { text: description.slice(summary.length), weight: 0.4 },
    parameters: { text: parameters.map(([parameter]) => parameter).join(" "), weight: 0.7 },
    details: { text: parameters.map(([, detail]) => detail).join(" "), weight: 0.4 },
  };
}

/** The names and descriptions of the parameters. */
function parametersOf({ properties }: JsonObject): readonly (readonly [name: string, detail: string])[] {
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties)
    .slice(0, MAX_PARAMETERS)
    .map(([name, property]) => {
      if (!isJsonObject(property)) return [name, ""];
      const { description, enum: values } = property;
      const named = Array.isArray(values)
        ? values.filter((value) => typeof value === "string").slice(0, 20)
        : [];
      return [name, [typeof description === "string" ? description.slice(0, 500) : "", ...named].join(" ")];
    });
}
