import { LruMap } from "../../base/lru-map.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/host-implementation.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { Search, type SearchTime } from "../search/search.ts";
import { rankSymbols } from "./rank-symbols.ts";
import { refreshSymbols, type WorkspaceSymbols } from "./workspace-symbols.ts";

const MAX_RESULTS = 100;
const DEFAULT_RESULTS = 20;

/** The most symbols that are kept, of all workspaces together. */
const MAX_KEPT = 300_000;

/** The tool `project_knowledge_search`, with an index of each workspace. */
export function indexTools({ timeMs = 10_000 }: SearchTime): readonly Tool[] {
  const kept = new LruMap<string, WorkspaceSymbols>(MAX_KEPT, { sizeOf: ({ size }) => size + 1 });
  const search = defineTool({
    name: "project_knowledge_search",
    description:
      "Finds classes, functions, methods, types and constants of the workspace by words of their names, in TypeScript, " +
      "JavaScript and Python. Returns { symbols: [{ name, kind, path, line, container? }] }, the best ones first, and a note " +
      "if some are left out. Skips what .gitignore files name.",
    sideEffects: "read",
    confirm: "auto",
    usesFiles: true,
    inputSchema: inputSchema(
      {
        query: {
          type: "string",
          minLength: 1,
          maxLength: 200,
          description:
            "A name, a part of it, or several words that all occur in the name, its class or its path",
        },
      },
      {
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_RESULTS,
          description: "The most symbols. Default: 20",
        },
      },
    ),
    host: async ({ query, limit = DEFAULT_RESULTS }, context) => {
      const search = new Search(context, timeMs);
      const key = keyOf(context);
      const refreshed = await refreshSymbols(grantedFiles(context), search, kept.get(key));
      kept.set(key, refreshed.kept);
      const ranked = await rankSymbols(refreshed.found, query, search.pace);
      const symbols = ranked.slice(0, limit).map(({ symbol, path }) => ({ ...symbol, path }));
      if (ranked.length > limit) search.note(`The best ${limit} of ${ranked.length} symbols are shown.`);
      if (ranked.length === 0) {
        search.note("No symbol fits. Use fewer or shorter words, or search the text of the files instead.");
      }
      return { symbols, ...search.notes() };
    },
  });
  return [search];
}

/** Sessions and callers share no index, since a file that one of them can read may be granted to no other. */
function keyOf({ principal, sessionId, workspace }: HostContext): string {
  return JSON.stringify([principal?.kind, principal?.id, sessionId, workspace]);
}
