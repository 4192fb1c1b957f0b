import { wellFormed } from "../../../base/text.ts";
import { parseJson } from "../../../json/parse.ts";
import { type RawPart, rawItems, rawMembers } from "../../../json/raw-parts.ts";
import type { JsonBounds } from "../../../json/refusal.ts";
import { freezeJson, isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** A token (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const TYPES: readonly unknown[] = ["string", "integer", "boolean"];

/** Maximum number of tools of a server. */
const MAX_TOOLS = 10_000;

/** The tools of all pages, as the server sent them. */
export interface ListedTools {
  readonly tools: readonly JsonValue[];
  /** One line for each tool that was left out. It may have text of the server. */
  readonly problems: readonly string[];
  /** Milliseconds after which the list should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/** Maximum number of resources, templates and prompts of a server, each. */
const MAX_OFFERS = 10_000;

/** The error of JSON-RPC for a method that a server does not have. */
const METHOD_NOT_FOUND = -32_601;

/** The lists of a server other than its tools, and the capability that each needs. */
const LISTS = [
  { capability: "resources", method: "resources/list", member: "resources" },
  { capability: "resources", method: "resources/templates/list", member: "resourceTemplates" },
  { capability: "prompts", method: "prompts/list", member: "prompts" },
] as const;

/** Which list of a server something is in. */
export type OfferKind = (typeof LISTS)[number]["member"];

/** The resources, templates and prompts of a server, as it sent them. */
export interface ListedOffers {
  readonly items: Readonly<Record<OfferKind, readonly JsonValue[]>>;
  /** One line for each list that cannot be used. */
  readonly problems: readonly string[];
  /** Milliseconds after which the lists should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/** Maximum number of pages of a list. */
const MAX_PAGES = 256;

/** The longest cursor, in characters. */
const MAX_CURSOR = 8_192;

/** The maximum time for which a list may be cached, in ms. */
const MAX_TTL_MS = 24 * 60 * 60_000;

/** A list of a server cannot be used. `message` contains no text of the server. */
export class ListError extends Error {
  override readonly name = "ListError";
}

/** Sends a request other than a call. */
export type ListRequest = (method: string, params: JsonObject) => Promise<JsonObject>;

/** Which list is read. */
export interface ListedMember {
  readonly method: string;
  /** The member of a page with the items. It names them in errors, too. */
  readonly member: string;
  /** Maximum number of items of all pages. */
  readonly maxItems: number;
}

/** The items of all pages, as the server sent them. */
export interface ListedPages {
  readonly items: readonly JsonValue[];
  /** One line for each item that is not usable JSON. They may contain text from the server. */
  readonly problems: readonly string[];
  /** Milliseconds after which the list should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/**
 * Reads all pages of a list.
 *
 * @throws {ListError} if the pages do not end, or exceed the bounds.
 */
export async function listPages(
  request: ListRequest,
  { method, member, maxItems }: ListedMember,
): Promise<ListedPages> {
  const items: JsonValue[] = [];
  const problems: string[] = [];
  const cursors = new Set<string>();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    if (page > MAX_PAGES) throw new ListError(`its list of ${member} has more than ${MAX_PAGES} pages`);
    const result = await request(method, cursor === undefined ? {} : { cursor });
    const { [member]: listed, nextCursor, ttlMs: ttl, [UNUSABLE]: unusable } = result;
    if (!Array.isArray(listed)) throw new ListError(`its list of ${member} is not a list`);
    if (items.length + listed.length > maxItems)
      throw new ListError(`it has more than ${maxItems} ${member}`);
    // Not as arguments, of which there can be too many.
    for (const item of listed as readonly JsonValue[]) items.push(item);
    if (Array.isArray(unusable)) problems.push(...unusable.slice(0, maxItems).map(String));
    if (typeof ttl === "number" && ttl >= 0) ttlMs = Math.min(ttl, MAX_TTL_MS);
    if (nextCursor === undefined || nextCursor === null) return { items, problems, ttlMs };
    if (typeof nextCursor !== "string" || nextCursor.length > MAX_CURSOR) {
      throw new ListError(`a page of its list of ${member} has a cursor that is not a short string`);
    }
    if (cursors.has(nextCursor))
      throw new ListError(`a page of its list of ${member} leads back to an earlier one`);
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
}

/** Reads the lists of a server other than that of its tools. A list that cannot be used is skipped. */
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

/**
 * Reads all pages of `tools/list`.
 *
 * @throws {ListError} if the pages do not end, or exceed the bounds.
 */
export async function listTools(
  request: ListRequest,
  { hasTools, checksHeaders }: { readonly hasTools: boolean; readonly checksHeaders: boolean },
): Promise<ListedTools> {
  if (!hasTools) return { tools: [], problems: [], ttlMs: undefined };
  const {
    items,
    problems: unusable,
    ttlMs,
  } = await listPages(request, {
    method: "tools/list",
    member: "tools",
    maxItems: MAX_TOOLS,
  });
  if (!checksHeaders) return { tools: items, problems: unusable, ttlMs };
  const tools: JsonValue[] = [];
  const problems = [...unusable];
  for (const tool of items) {
    const problem = problemOf(tool);
    if (problem === undefined) tools.push(tool);
    else problems.push(problem);
  }
  return { tools, problems, ttlMs };
}

function problemOf(tool: JsonValue): string | undefined {
  if (!isJsonObject(tool) || !isJsonObject(tool["inputSchema"])) return undefined;
  const problem = headerProblem(tool["inputSchema"]);
  return problem === undefined ? undefined : `tool '${String(tool["name"])}' is left out: ${problem}`;
}

/**
 * Returns why the `x-mcp-header` of an input schema are invalid (MCP 2026-07-28, "Custom headers"), or `undefined` if they are
 * valid. A client must leave such a tool out.
 */
function headerProblem(schema: JsonObject): string | undefined {
  const names = new Set<string>();
  const visit = (
    node: JsonValue | undefined,
    isReachable: boolean,
    isProperty: boolean,
  ): string | undefined => {
    if (Array.isArray(node)) return firstOf(node, (item) => visit(item, false, false));
    if (!isJsonObject(node)) return undefined;
    const { "x-mcp-header": name, properties, ...others } = node;
    if (name !== undefined) {
      const problem =
        isReachable && isProperty ? nameProblem(name, node["type"], names) : "it is not on a property";
      if (problem !== undefined) return `x-mcp-header is invalid: ${problem}`;
    }
    const inProperties = isJsonObject(properties)
      ? firstOf(Object.values(properties), (each) => visit(each, isReachable, true))
      : undefined;
    return inProperties ?? firstOf(subschemas(others), (each) => visit(each, false, false));
  };
  return visit(schema, true, false);
}

function nameProblem(name: JsonValue, type: JsonValue | undefined, names: Set<string>): string | undefined {
  if (typeof name !== "string" || !TOKEN.test(name)) return "it is not a token";
  if (!TYPES.includes(type)) return "the property is neither string nor integer nor boolean";
  const lower = name.toLowerCase();
  if (names.has(lower)) return "two properties have the same one";
  names.add(lower);
  return undefined;
}

/** Values that may contain schemas. Those of `const`, `enum`, `default` and `examples` are data. */
function subschemas({
  const: _,
  enum: _enum,
  default: _default,
  examples: _examples,
  ...others
}: JsonObject): JsonValue[] {
  return Object.values(others).filter((each) => typeof each === "object" && each !== null) as JsonValue[];
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The member of a result with the items of its list that cannot be used, each as a text. */
export const UNUSABLE = "sandgate/unusable";

/** The lists of a server, by the methods that read them. */
const MEMBERS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** The members that identify an item, in the order in which they are looked for. */
const NAMES = ["name", "uri", "uriTemplate"];

/** The bounds of one item. */
const ITEM_BOUNDS: JsonBounds = Object.freeze({
  length: 4 * 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
  decimals: "exact",
});

/** The maximum number of values of all items. */
const MAX_VALUES = 200_000;

/** Bounds of the message around the items. */
const REST_BOUNDS: JsonBounds = Object.freeze({ length: 1_024 * 1_024, values: 20_000, members: 10_000 });

/**
 * Reads an answer with a list, and leaves out and reports items that are not usable JSON.
 *
 * @param method The method of the request.
 * @returns `undefined` if it is not such an answer, or the message around the items cannot be used.
 */
export function readPartialList(text: string, method: string): JsonObject | undefined {
  const member = Object.hasOwn(MEMBERS, method) ? MEMBERS[method] : undefined;
  const message = rawMembers(text);
  const result = rawMembers(message?.find(({ name }) => name === "result")?.text ?? "");
  const items = rawItems(result?.find(({ name }) => name === member)?.text ?? "");
  if (member === undefined || message === undefined || result === undefined || items === undefined)
    return undefined;
  const others = objectOf(result.filter(({ name }) => name !== member));
  const around = objectOf(message.filter(({ name }) => name !== "result"));
  const isOnce = [
    result.filter(({ name }) => name === member),
    message.filter(({ name }) => name === "result"),
  ];
  if (others === undefined || around === undefined || isOnce.some(({ length }) => length !== 1))
    return undefined;
  const listed: JsonValue[] = [];
  const unusable: string[] = [];
  let values = 0;
  for (const [index, item] of items.entries()) {
    const parsed = parseJson(item.text, ITEM_BOUNDS);
    if ("value" in parsed) values += item.values;
    if ("value" in parsed && values <= MAX_VALUES) listed.push(parsed.value);
    else {
      const why =
        "value" in parsed ? "the list is too long" : `${parsed.reason} at position ${parsed.position}`;
      unusable.push(`item ${index + 1} of its ${member}${nameOf(item)} is left out: ${why}`);
    }
    if (values > MAX_VALUES) break;
  }
  return freezeJson({ ...around, result: { ...others, [member]: listed, [UNUSABLE]: unusable } });
}

/** Parses members, whose names must not repeat. */
function objectOf(
  members: readonly { readonly name: string; readonly text: string }[],
): JsonObject | undefined {
  const text = members.map(({ name, text: value }) => `${JSON.stringify(name)}:${value}`).join(",");
  const parsed = parseJson(`{${text}}`, REST_BOUNDS);
  return "value" in parsed ? (parsed.value as JsonObject) : undefined;
}

function nameOf({ text }: RawPart): string {
  const members = rawMembers(text) ?? [];
  const named = NAMES.flatMap((name) => members.find((each) => each.name === name) ?? [])[0];
  if (named === undefined || !named.text.startsWith('"')) return "";
  try {
    return `, '${wellFormed(JSON.parse(named.text) as string)}',`;
  } catch {
    return "";
  }
}
