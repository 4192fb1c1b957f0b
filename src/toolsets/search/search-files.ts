import { defineTool, type Tool } from "../../engine/tool.ts";
import { inputSchema } from "../input-schema.ts";
import { compilePathGlob, GLOB_FORM } from "./path-glob.ts";
import { Search } from "./search.ts";
import {
  DEFAULT_MATCHES,
  LIMIT,
  MAX_PATTERN_LENGTH,
  moreThan,
  SEARCH_PATH,
  SEARCHED,
} from "./search-input.ts";

/** Returns the tool `search_files`. */
export function searchFiles(timeMs: number): Tool {
  return defineTool({
    name: "search_files",
    description: `Finds files by a glob for their paths. Returns { paths }, and a note if not all are shown. ${SEARCHED}`,
    sideEffects: "read",
    confirm: "auto",
    usesFiles: true,
    paths: [{ argument: "/path", access: "read" }],
    inputSchema: inputSchema(
      {
        pattern: {
          type: "string",
          minLength: 1,
          maxLength: MAX_PATTERN_LENGTH,
          description: `A glob, relative to path: ${GLOB_FORM}`,
        },
      },
      { path: SEARCH_PATH, limit: LIMIT },
    ),
    host: async ({ pattern, path = ".", limit = DEFAULT_MATCHES }, context) => {
      const filter = compilePathGlob(pattern);
      const search = new Search(context, timeMs);
      const paths: string[] = [];
      for await (const found of search.paths(path, filter)) {
        if (paths.length === limit) {
          search.note(moreThan(limit, "Narrow the glob or the path"));
          break;
        }
        paths.push(found);
      }
      return { paths, ...search.notes() };
    },
  });
}
