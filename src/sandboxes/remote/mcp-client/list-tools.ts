import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { headerProblem } from "./header-arguments.ts";

/** The most tools of a server. */
const MAX_TOOLS = 10_000;

/** The most pages of a list. */
const MAX_PAGES = 256;

/** The longest cursor, in characters. */
const MAX_CURSOR = 8_192;

/** The most time for which a list may be kept, in ms. */
const MAX_TTL_MS = 24 * 60 * 60_000;

/** The tools of all pages, as the server sent them. */
export interface ListedTools {
  readonly tools: readonly JsonValue[];
  /** One line for each tool that was left out. It may have text of the server. */
  readonly problems: readonly string[];
  /** Milliseconds after which the list should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/** A list of a server cannot be used. `message` has no text of the server. */
export class ListError extends Error {
  override readonly name = "ListError";
}

type Request = (method: string, params: JsonObject) => Promise<JsonObject>;

/**
 * Reads all pages of `tools/list`.
 *
 * @throws {ListError} if the pages do not end, or exceed the bounds.
 */
export async function listTools(
  request: Request,
  { hasTools, checksHeaders }: { readonly hasTools: boolean; readonly checksHeaders: boolean },
): Promise<ListedTools> {
  if (!hasTools) return { tools: [], problems: [], ttlMs: undefined };
  const tools: JsonValue[] = [];
  const problems: string[] = [];
  const cursors = new Set<string>();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    if (page > MAX_PAGES) throw new ListError(`its list of tools has more than ${MAX_PAGES} pages`);
    const result = await request("tools/list", cursor === undefined ? {} : { cursor });
    const { tools: listed, nextCursor, ttlMs: ttl } = result;
    if (!Array.isArray(listed)) throw new ListError("its list of tools is not a list");
    if (tools.length + listed.length > MAX_TOOLS) throw new ListError(`it has more than ${MAX_TOOLS} tools`);
    for (const tool of listed as readonly JsonValue[]) {
      const problem = checksHeaders ? problemOf(tool) : undefined;
      if (problem === undefined) tools.push(tool);
      else problems.push(problem);
    }
    if (typeof ttl === "number" && ttl >= 0) ttlMs = Math.min(ttl, MAX_TTL_MS);
    if (nextCursor === undefined || nextCursor === null) return { tools, problems, ttlMs };
    if (typeof nextCursor !== "string" || nextCursor.length > MAX_CURSOR) {
      throw new ListError("a page of its list of tools has a cursor that is not a short string");
    }
    if (cursors.has(nextCursor))
      throw new ListError("a page of its list of tools leads back to an earlier one");
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
}

function problemOf(tool: JsonValue): string | undefined {
  if (!isJsonObject(tool) || !isJsonObject(tool["inputSchema"])) return undefined;
  const problem = headerProblem(tool["inputSchema"]);
  return problem === undefined ? undefined : `tool '${String(tool["name"])}' is left out: ${problem}`;
}
