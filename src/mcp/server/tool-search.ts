import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { ToolIndex } from "../../programs/catalogue/catalogue-tools.ts";
import { declare, firstSentence } from "../../programs/catalogue/describe-tools.ts";
import type { Session } from "../../sessions/session.ts";
import { OFFER_TOOLS } from "./find-offer.ts";
import type { McpServerOptions } from "./options.ts";

/** What a client asks of a tool. */
interface Asked {
  readonly name: string;
  readonly arguments: JsonValue;
}

/** The part of the options of a server that concerns the search. */
export type SearchOptions = Pick<McpServerOptions, "registry" | "searchAbove">;

const SEARCH = "search_tools";
const DESCRIBE = "describe_tools";
const CALL = "call_tool";

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 50;
const MAX_QUERY_LENGTH = 1_000;
const MAX_SUMMARY_LENGTH = 200;
const MAX_NAMES = 50;

const NAME: JsonObject = { type: "string", maxLength: 128 };

/** The tools of a list in place of all others. They read what `tools/list` would say, except the last, which makes a call. */
const TOOLS: readonly { readonly name: string; readonly [member: string]: JsonValue }[] = [
  {
    name: SEARCH,
    title: "Find tools",
    description: `Finds tools by what they do. Returns [{ name, description }], the best one first. ${DESCRIBE} tells how they are called, and ${CALL} calls them.`,
    inputSchema: objectOf(
      {
        query: {
          type: "string",
          minLength: 1,
          maxLength: MAX_QUERY_LENGTH,
          description: "What the tool should do, in a few words",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_LIMIT,
          description: `How many to return. Default: ${DEFAULT_LIMIT}`,
        },
      },
      ["query"],
    ),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: DESCRIBE,
    title: "Describe tools",
    description: `Returns the TypeScript types of tools: the input of each is what ${CALL} takes as arguments.`,
    inputSchema: objectOf({ names: { type: "array", items: NAME, minItems: 1, maxItems: MAX_NAMES } }, [
      "names",
    ]),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL,
    title: "Call a tool",
    description: "Calls a tool by its name, and returns its result.",
    inputSchema: objectOf(
      { name: NAME, arguments: { type: "object", description: "Its input. Default: {}" } },
      ["name"],
    ),
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
];

const NAMES = new Set(TOOLS.map(({ name }) => name));

/** The indexes of registries, which are built again after a change. */
const indexes = new WeakMap<McpServerOptions["registry"], ToolIndex>();

function objectOf(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Returns the list that a client gets: the tools themselves, or those with which it finds and calls them, if there are too many. Of
 * these, a tool of the registry with the same name stands in for the one here.
 */
export function shortList<Listed extends { readonly name: string }>(
  all: readonly Listed[],
  { searchAbove }: SearchOptions,
): readonly (Listed | JsonObject)[] {
  if (searchAbove === undefined || all.length <= searchAbove) return all;
  const own = all.filter(({ name }) => NAMES.has(name) || name === "run_program");
  return [...own, ...TOOLS.filter(({ name }) => !own.some((each) => each.name === name))];
}

/**
 * Answers a request for one of the tools above, unless the registry has a tool with its name.
 *
 * @param canCall Whether the client's list has a tool.
 * @returns the result; or the request for the tool that is called, which may be the given one.
 */
export function searched(
  asked: Asked,
  session: Session,
  { registry, searchAbove }: SearchOptions,
  canCall: (name: string) => boolean,
): { readonly result: JsonObject } | { readonly asked: Asked } {
  const { name, arguments: given } = asked;
  if (searchAbove === undefined || !NAMES.has(name) || session.registry.has(name)) return { asked };
  const args = isJsonObject(given) ? given : {};
  const listed = (tool: string): boolean =>
    !OFFER_TOOLS.has(tool) && session.registry.has(tool) && canCall(tool);
  if (name === CALL) {
    const { name: called, arguments: own = {} } = args;
    if (typeof called !== "string") return refused("name must be the name of a tool");
    // It would be looked up as a tool of the registry, which has none.
    if (NAMES.has(called) && !session.registry.has(called)) return refused(`${called} is called by itself`);
    return { asked: { name: called, arguments: own } };
  }
  if (name === SEARCH) {
    const { query, limit = DEFAULT_LIMIT } = args;
    if (typeof query !== "string" || query === "" || query.length > MAX_QUERY_LENGTH)
      return refused(`query must be a text of 1 to ${MAX_QUERY_LENGTH} characters`);
    if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
      return refused(`limit must be from 1 to ${MAX_LIMIT}`);
    const index = indexes.get(registry) ?? new ToolIndex(registry, []);
    indexes.set(registry, index);
    const found = index.search(query, limit, listed).map(({ name: tool, description }) => ({
      name: tool,
      description: firstSentence(description).slice(0, MAX_SUMMARY_LENGTH),
    }));
    return answered(JSON.stringify(found));
  }
  const { names } = args;
  if (!Array.isArray(names) || names.length === 0 || names.length > MAX_NAMES)
    return refused(`names must be a list of 1 to ${MAX_NAMES} names`);
  const known = names.filter((tool): tool is string => typeof tool === "string" && listed(tool));
  const unknown = names.filter((tool) => typeof tool !== "string" || !known.includes(tool));
  const types = declare(
    known.map((tool) => session.registry.get(tool)),
    "full",
  );
  return answered(unknown.length === 0 ? types : `${types}\nThere are no tools ${JSON.stringify(unknown)}\n`);
}

function answered(text: string): { readonly result: JsonObject } {
  return { result: { content: [{ type: "text", text }] } };
}

function refused(text: string): { readonly result: JsonObject } {
  return {
    result: { content: [{ type: "text", text: `The arguments are invalid: ${text}` }], isError: true },
  };
}
