import { isJsonObject, type JsonValue } from "../../../../json/value.ts";
import { headerProblem } from "./header-arguments.ts";
import { type ListRequest, listPages } from "./list-pages.ts";

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
