import { defineTool, type Tool } from "../../engine/tool.ts";
import { inputSchema } from "../input-schema.ts";
import { type FoundLine, type GrepResult, grepText } from "./grep-text.ts";
import { LinePattern } from "./line-pattern.ts";
import { compilePathGlob, GLOB_FORM, type PathFilter } from "./path-glob.ts";
import { Search } from "./search.ts";
import {
  DEFAULT_MATCHES,
  LIMIT,
  MAX_PATTERN_LENGTH,
  moreThan,
  SEARCH_PATH,
  SEARCHED,
} from "./search-input.ts";
import { CUT_LINES, isCut, shownLine } from "./shown-line.ts";

/** The most lines that are shown before and after a match. */
const MAX_CONTEXT = 10;

/** The most characters of lines in an output, in UTF-16 code units. */
const MAX_LENGTH = 100_000;

const NARROWER = "Narrow the pattern, the glob or the path";

/** Returns the tool `grep`. */
export function grep(timeMs: number): Tool {
  return defineTool({
    name: "grep",
    description:
      "Searches text files for lines that match a regular expression. Returns { matches: [{ path, lines }] }: a line that " +
      "matches is NUMBER:TEXT, one around it NUMBER-TEXT. With filesOnly, returns { paths }. A note says what was left out. " +
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
      },
    ),
    host: async (
      { pattern, path = ".", glob, ignoreCase = false, context = 0, filesOnly = false, limit },
      call,
    ) => {
      const search = new Search(call, timeMs);
      const grepping: Grepping = {
        search,
        pattern: new LinePattern(pattern, ignoreCase),
        start: path,
        filter: glob === undefined ? undefined : compilePathGlob(glob),
        limit: limit ?? DEFAULT_MATCHES,
      };
      const found = filesOnly
        ? { paths: await findPaths(grepping) }
        : { matches: await findLines(grepping, context) };
      return { ...found, ...search.notes() };
    },
  });
}

interface Grepping {
  readonly search: Search;
  readonly pattern: LinePattern;
  readonly start: string;
  readonly filter: PathFilter | undefined;
  /** The most matches, or paths. */
  readonly limit: number;
}

async function findPaths({ limit, ...grepping }: Grepping): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { path, hasMore } of grepFiles({ ...grepping, context: 0, left: () => 0 })) {
    if (!hasMore) continue;
    if (paths.length === limit) {
      grepping.search.note(moreThan(limit, NARROWER));
      break;
    }
    paths.push(path);
  }
  return paths;
}

/** The lines of a file, as the model reads them. */
interface FileLines {
  readonly path: string;
  readonly lines: readonly string[];
}

async function findLines({ limit, ...grepping }: Grepping, context: number): Promise<readonly FileLines[]> {
  const { search, pattern } = grepping;
  const matches: FileLines[] = [];
  let left = limit;
  let length = 0;
  for await (const { path, hasMore, ...found } of grepFiles({ ...grepping, context, left: () => left })) {
    const lines: string[] = [];
    for (const line of found.lines) {
      if (isCut(line.text)) search.note(CUT_LINES);
      const text = describeLine(line, pattern);
      length += text.length;
      if (length > MAX_LENGTH) break;
      lines.push(text);
    }
    if (lines.length > 0) matches.push({ path, lines });
    left -= found.matches;
    if (length > MAX_LENGTH) {
      search.note(`Only the first ${MAX_LENGTH} characters of results are shown. ${NARROWER}.`);
      break;
    }
    if (hasMore) {
      search.note(moreThan(limit, NARROWER));
      break;
    }
  }
  return matches;
}

function describeLine({ number, text, isMatch }: FoundLine, pattern: LinePattern): string {
  const at = isMatch && isCut(text) ? pattern.indexIn(text) : 0;
  return `${number}${isMatch ? ":" : "-"}${shownLine(text, at)}`;
}

/** @param left How many matches of the next file may be returned. */
async function* grepFiles({
  search,
  pattern,
  start,
  filter,
  context,
  left,
}: Omit<Grepping, "limit"> & { readonly context: number; readonly left: () => number }): AsyncGenerator<
  GrepResult & { readonly path: string },
  void,
  undefined
> {
  for await (const { path, bytes } of search.contents(start, filter)) {
    if (pattern.literal !== undefined && !bytes.includes(pattern.literal)) continue;
    const { pace } = search;
    const found = await grepText(bytes.toString("utf8"), { pattern, context, limit: left(), pace });
    if (found.hasLongLine) search.note("Very long lines were searched only at their beginning.");
    yield { path, ...found };
  }
}
