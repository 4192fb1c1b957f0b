import { requiredBeginning } from "../../base/text-finder.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { inputSchema } from "../input-schema.ts";
import { isDefinition } from "./definition-line.ts";
import { linesOf } from "./lines.ts";
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
import { CUT_LINES, isCut, shownLine } from "./shown-line.ts";
import { findWord } from "./word.ts";

/** A line in which a symbol occurs. */
interface Reference {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** Whether the line looks like the symbol's definition. */
  readonly definition?: true;
}

/** How many lines are searched between two looks at the time. */
const STEP = 500;

/** Returns the tool `find_references`. */
export function findReferences(timeMs: number): Tool {
  return defineTool({
    name: "find_references",
    description:
      "Finds the lines of text files in which a symbol occurs as a whole word. Returns { references: [{ path, line, text, " +
      `definition? }] }: lines that look like its definition first. A note says what was left out. ${SEARCHED}`,
    sideEffects: "read",
    confirm: "auto",
    usesFiles: true,
    paths: [{ argument: "/path", access: "read" }],
    inputSchema: inputSchema(
      {
        symbol: {
          type: "string",
          minLength: 1,
          maxLength: MAX_PATTERN_LENGTH,
          description: "The name of a function, class, variable or the like; upper and lower case differ",
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
        limit: LIMIT,
      },
    ),
    host: async ({ symbol, path = ".", glob, limit = DEFAULT_MATCHES }, context) => {
      const search = new Search(context, timeMs);
      const definitions: Reference[] = [];
      const others: Reference[] = [];
      let count = 0;
      for await (const reference of references(search, symbol, path, glob)) {
        count++;
        const kind = reference.definition ? definitions : others;
        if (kind.length < limit) kind.push(reference);
      }
      const found = [...definitions, ...others].slice(0, limit);
      if (count > found.length) search.note(moreThan(limit, "Narrow the glob or the path"));
      return { references: found, ...search.notes() };
    },
  });
}

async function* references(
  search: Search,
  symbol: string,
  start: string,
  glob: string | undefined,
): AsyncGenerator<Reference, void, undefined> {
  const filter = glob === undefined ? undefined : compilePathGlob(glob);
  const required = requiredBeginning(symbol);
  for await (const { path, bytes } of search.contents(start, filter)) {
    if (!bytes.includes(required)) continue;
    for (const { number, text } of linesOf(bytes.toString("utf8"))) {
      if (number % STEP === 0) await search.pace.turn();
      const at = findWord(text, symbol);
      if (at < 0) continue;
      if (search.pace.isOver) return;
      if (isCut(text)) search.note(CUT_LINES);
      const shown = { path, line: number, text: shownLine(text, at) };
      yield isDefinition(text, at, symbol.length) ? { ...shown, definition: true } : shown;
    }
  }
}
