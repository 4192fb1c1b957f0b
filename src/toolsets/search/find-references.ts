import { requiredBeginning, TextFinder } from "../../base/text-finder.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import type { ModelReader } from "../../tool/tool-traits.ts";
import { listText, onOneLine } from "../model-texts.ts";
import { inputSchema } from "../tool-parts.ts";
import {
  CUT_LINES,
  DEFAULT_MATCHES,
  isCut,
  LIMIT,
  linesOf,
  MAX_PATTERN_LENGTH,
  moreThan,
  SEARCH_PATH,
  SEARCHED,
  shownLine,
} from "./matched-lines.ts";
import { compilePathGlob, GLOB_FORM } from "./path-glob.ts";
import { Search } from "./search.ts";

const WORD = /^[\p{L}\p{M}\p{N}_$]/u;

const REST_OF_WORD = /[\p{L}\p{M}\p{N}_$]*/uy;

const WORD_BEFORE = /[\p{L}\p{M}\p{N}_$]$/u;

/** How much before and after a symbol is looked at, in UTF-16 code units. */
const NEARBY = 300;

/** Text before the name of a definition, in the languages that agents mostly use. */
const KEYWORD =
  /(?:^|[^\p{L}\p{N}_$.])(?:class|interface|type|enum|struct|trait|union|protocol|record|namespace|module|package|object|extension|function|func|fn|fun|def|sub|proc|const|let|var|val|static|impl|typedef|macro_rules!|#define)[ \t]*(?:[ \t]|\*)[ \t]*$/u;

/** Before the name of a method of Go. */
const RECEIVER = /(?:^|[ \t])func[ \t]*\([^()]*\)[ \t]*$/;

/** Before and after the name of a method in a class. */
const MODIFIERS =
  /^[ \t]*(?:(?:public|private|protected|internal|static|async|abstract|override|readonly|final|virtual|get|set|export|default)[ \t]+)*[*#]?$/;

const BODY = /^(?:<[^<>()]*>)?\([^()]*\)[^;{}()]*\{[ \t]*$/;

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
      "Finds the lines of text files in which a symbol occurs as a whole word, as PATH:NUMBER:TEXT: lines that look like its " +
      `definition first. A note says what was left out. ${SEARCHED}`,
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
    modelText: referencesText,
  });
}

/** Returns how the model reads references. */
function referencesText(
  { references: found, note }: { readonly references: readonly Reference[]; readonly note?: string },
  reader: ModelReader,
): string {
  const linesOfKind = (isDefinition: boolean, heading: string): readonly string[] => {
    const lines = found
      .filter(({ definition = false }) => definition === isDefinition)
      .map(({ path, line, text }) => `${onOneLine(path)}:${line}:${text}`);
    return lines.length === 0 ? [] : [heading, ...lines];
  };
  const lines = [...linesOfKind(true, "Definitions:"), ...linesOfKind(false, "References:")];
  return listText(
    {
      lines,
      what: "lines",
      none: "The symbol does not occur.",
      narrower: "Narrow the glob or the path.",
      note,
    },
    reader,
  );
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

/** Whether the symbol at an index of a line seems to be defined there. */
function isDefinition(line: string, at: number, length: number): boolean {
  const before = line.slice(Math.max(0, at - NEARBY), at);
  if (KEYWORD.test(before) || RECEIVER.test(before)) return true;
  const after = line.slice(at + length, at + length + NEARBY);
  return at < NEARBY && MODIFIERS.test(before) && BODY.test(after);
}

/**
 * Returns where a text first has a symbol as a whole word, or -1: no letter, digit, `_` or `$` is beside it, unless the
 * symbol itself begins or ends with another character.
 */
function findWord(text: string, symbol: string): number {
  const beginsWord = WORD.test(symbol);
  const endsWord = WORD_BEFORE.test(symbol);
  let next = 0;
  for (const at of new TextFinder(symbol).allPositionsIn(text)) {
    if (at < next) continue;
    const end = at + symbol.length;
    const isInside =
      (beginsWord && WORD_BEFORE.test(text.slice(Math.max(0, at - 2), at))) ||
      (endsWord && WORD.test(text.slice(end, end + 2)));
    if (!isInside) return at;
    // Everything else in the same word has a letter before it.
    if (beginsWord) next = endOfWord(text, at);
  }
  return -1;
}

function endOfWord(text: string, start: number): number {
  REST_OF_WORD.lastIndex = start;
  REST_OF_WORD.test(text);
  return REST_OF_WORD.lastIndex;
}
