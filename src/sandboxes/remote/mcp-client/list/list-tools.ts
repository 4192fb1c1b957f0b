import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import { type ListRequest, listPages } from "./list-pages.ts";

/** A token (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const TYPES: readonly unknown[] = ["string", "integer", "boolean"];

/** The most tools of a server. */
const MAX_TOOLS = 10_000;

/** The tools of all pages, as the server sent them. */
export interface ListedTools {
  readonly tools: readonly JsonValue[];
  /** One line for each tool that was left out. It may have text of the server. */
  readonly problems: readonly string[];
  /** Milliseconds after which the list should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
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

/** Values that may hold schemas. Those of `const`, `enum`, `default` and `examples` are data. */
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
