import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import { type SearchDocument, type SearchFields, SearchIndex } from "./search-index.ts";

/** The most parameters of a tool that are indexed. */
const MAX_PARAMETERS = 64;

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

function documentOf(tool: Tool<never, never>): SearchDocument {
  const { sideEffects } = tool;
  return { fields: fieldsOf(tool), answers: sideEffects !== undefined && changesNothing(sideEffects) };
}

function fieldsOf({ name, title, description, inputSchema, tags }: Tool<never, never>): SearchFields {
  const parameters = parametersOf(inputSchema);
  return {
    name: { text: name, weight: 2.5 },
    title: { text: [title ?? "", ...(tags ?? [])].join(" "), weight: 1 },
    description: { text: description, weight: 1.5 },
    parameters: { text: parameters.map(([parameter]) => parameter).join(" "), weight: 0.7 },
    details: { text: parameters.map(([, detail]) => detail).join(" "), weight: 0.4 },
  };
}

/** The names of the parameters, and what is said about them. */
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
