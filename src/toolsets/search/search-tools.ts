import { existsSync } from "node:fs";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { inputSchema } from "../tool-parts.ts";
import { findReferences } from "./find-references.ts";
import { greppedText, pathsText } from "./found-text.ts";
import { LinePattern } from "./line-pattern.ts";
import {
  DEFAULT_MATCHES,
  type FileLines,
  type GrepResult,
  grepText,
  LIMIT,
  MAX_PATTERN_LENGTH,
  MatchedLines,
  moreThan,
  NARROWER,
  OFFSET,
  SEARCH_PATH,
  SEARCHED,
} from "./matched-lines.ts";
import { compilePathGlob, GLOB_FORM, type PathFilter } from "./path-glob.ts";
import { ripgrep } from "./ripgrep.ts";
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

/** Maximum number of lines that are shown before and after a match. */
const MAX_CONTEXT = 10;

/**
 * Returns the tool `grep`.
 *
 * @param hasRipgrep Whether it can also run `ripgrep` in the sandbox `process`.
 */
function grep(timeMs: number, hasRipgrep: boolean): Tool {
  return defineTool({
    name: "grep",
    description:
      "Searches text files for lines that match a regular expression. A line that matches is shown as PATH:NUMBER:TEXT, one " +
      "around it as PATH-NUMBER-TEXT; with filesOnly only the paths, one on a line. A note says what was left out. " +
      SEARCHED,
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
          description:
            "A regular expression of ECMAScript without look-around and back-references. It is matched against each line on its own",
        },
      },
      {
        path: SEARCH_PATH,
        glob: {
          type: "string",
          minLength: 1,
          maxLength: MAX_PATTERN_LENGTH,
          description: `Which files to search, relative to path: ${GLOB_FORM}. Default: all`,
        },
        ignoreCase: { type: "boolean", description: "Take upper and lower case as the same. Default: false" },
        context: {
          type: "integer",
          minimum: 0,
          maximum: MAX_CONTEXT,
          description: "How many lines to show before and after each match. Default: 0",
        },
        filesOnly: {
          type: "boolean",
          description: "Return only the paths of files with a match. Default: false",
        },
        limit: LIMIT,
        offset: OFFSET,
      },
    ),
    host: async (
      { pattern, path = ".", glob, ignoreCase = false, context = 0, filesOnly = false, limit, offset = 0 },
      call,
    ) => {
      const search = new Search(call, timeMs);
      const grepping: Grepping = {
        search,
        pattern: new LinePattern(pattern, ignoreCase),
        start: path,
        filter: glob === undefined ? undefined : compilePathGlob(glob),
        limit: limit ?? DEFAULT_MATCHES,
        offset,
      };
      const found = filesOnly
        ? { paths: await findPaths(grepping) }
        : { matches: await findLines(grepping, context) };
      return { ...found, ...search.notes() };
    },
    modelText: greppedText,
    ...(hasRipgrep && { process: ripgrep(timeMs) }),
  });
}

interface Grepping {
  readonly search: Search;
  readonly pattern: LinePattern;
  readonly start: string;
  readonly filter: PathFilter | undefined;
  /** Maximum number of matches, or paths. */
  readonly limit: number;
  /** How many of them are skipped. */
  readonly offset: number;
}

async function findPaths({ limit, offset, ...grepping }: Grepping): Promise<readonly string[]> {
  const paths: string[] = [];
  let skipped = 0;
  for await (const { path, hasMore } of grepFiles({ ...grepping, context: 0, left: () => 0 })) {
    if (!hasMore) continue;
    if (paths.length === limit) {
      grepping.search.note(moreThan(limit, NARROWER, offset + limit));
      break;
    }
    if (skipped < offset) skipped++;
    else paths.push(path);
  }
  return paths;
}

async function findLines(
  { limit, offset, ...grepping }: Grepping,
  context: number,
): Promise<readonly FileLines[]> {
  const { search, pattern } = grepping;
  const matched = new MatchedLines(pattern, { limit, offset }, (text) => search.note(text));
  for await (const { path, ...found } of grepFiles({ ...grepping, context, left: () => matched.left })) {
    if (!matched.add(path, found)) break;
  }
  return matched.files;
}

/** @param left How many matches of the next file may be returned. */
async function* grepFiles({
  search,
  pattern,
  start,
  filter,
  context,
  left,
}: Omit<Grepping, "limit" | "offset"> & {
  readonly context: number;
  readonly left: () => number;
}): AsyncGenerator<GrepResult & { readonly path: string }, void, undefined> {
  for await (const { path, bytes } of search.contents(start, filter)) {
    if (pattern.required !== undefined && !bytes.includes(pattern.required)) continue;
    const { pace } = search;
    const found = await grepText(bytes.toString("utf8"), { pattern, context, limit: left(), pace });
    if (found.hasLongLine) search.note("Very long lines were searched only at their beginning.");
    yield { path, ...found };
  }
}
