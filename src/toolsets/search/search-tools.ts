import { existsSync } from "node:fs";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { inputSchema } from "../tool-parts.ts";
import { findReferences } from "./find-references.ts";
import { pathsText } from "./found-text.ts";
import { grep } from "./grep.ts";
import {
  DEFAULT_MATCHES,
  LIMIT,
  MAX_PATTERN_LENGTH,
  moreThan,
  OFFSET,
  SEARCH_PATH,
  SEARCHED,
} from "./matched-lines.ts";
import { compilePathGlob, GLOB_FORM } from "./path-glob.ts";
import { Search, type SearchTime } from "./search.ts";

/** Where the sandbox `process` looks for programs. */
const RIPGREP = ["/usr/bin/rg", "/bin/rg"];

/** Tools that find files and lines. `grep` can run in the sandbox `process`, too, if ripgrep is installed. */
export function searchTools({ timeMs = 10_000 }: SearchTime): readonly Tool[] {
  const hasRipgrep = RIPGREP.some((path) => existsSync(path));
  return [searchFiles(timeMs), grep(timeMs, hasRipgrep), findReferences(timeMs)];
}

/** Returns the tool `search_files`. */
function searchFiles(timeMs: number): Tool {
  return defineTool({
    name: "search_files",
    description: `Finds files by a glob for their paths, one on a line, and a note if not all are shown. ${SEARCHED}`,
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
      { path: SEARCH_PATH, limit: LIMIT, offset: OFFSET },
    ),
    host: async ({ pattern, path = ".", limit = DEFAULT_MATCHES, offset = 0 }, context) => {
      const filter = compilePathGlob(pattern);
      const search = new Search(context, timeMs);
      const paths: string[] = [];
      let skipped = 0;
      for await (const found of search.paths(path, filter)) {
        if (paths.length === limit) {
          search.note(moreThan(limit, "Narrow the glob or the path", offset + limit));
          break;
        }
        if (skipped < offset) skipped++;
        else paths.push(found);
      }
      return { paths, ...search.notes() };
    },
    modelText: pathsText,
  });
}
