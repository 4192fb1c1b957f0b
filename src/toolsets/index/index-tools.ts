import { LruMap } from "../../base/lru-map.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import type { Pace } from "../files/pace.ts";
import { listText, onOneLine } from "../model-texts.ts";
import { Search, type SearchTime } from "../search/search.ts";
import { grantedFiles, inputSchema } from "../tool-parts.ts";
import {
  type CodeSymbol,
  refreshSymbols,
  type SymbolKind,
  type WorkspaceSymbols,
} from "./workspace-symbols.ts";

/** A symbol, and how well it fits. */
interface RankedSymbol {
  readonly symbol: CodeSymbol;
  readonly path: string;
  readonly score: number;
}

/** How many symbols are compared between two looks at the time. */
const STEP = 1_000;

/** How a word fits a name, or what is around it. */
const EXACT = 100;

const SAME_LETTERS = 90;

const BEGINNING = 70;

const BEGINNING_OF_WORD = 60;

const INSIDE = 40;

const IN_CONTAINER = 15;

const IN_PATH = 10;

const KIND_SCORES: Readonly<Record<SymbolKind, number>> = {
  class: 6,
  type: 6,
  function: 5,
  method: 4,
  constant: 3,
  variable: 1,
};

const IN_TEST =
  /(?:^|\/)(?:tests?|__tests__|specs?|fixtures|examples?)\/|[._](?:test|spec)\.[a-z]+$|(?:^|\/)test_[^/]*$/;

const TEST_PENALTY = 8;

const MAX_RESULTS = 100;
const DEFAULT_RESULTS = 20;

/** Maximum number of indexed symbols of all workspaces together. */
const MAX_INDEXED = 300_000;

/** The tool `project_knowledge_search`, with an index of each workspace. */
export function indexTools({ timeMs = 10_000 }: SearchTime): readonly Tool[] {
  const indexes = new LruMap<string, WorkspaceSymbols>(MAX_INDEXED, { sizeOf: ({ size }) => size + 1 });
  const search = defineTool({
    name: "project_knowledge_search",
    description:
      "Finds classes, functions, methods, types and constants of the workspace by words of their names, in TypeScript, " +
      "JavaScript and Python, as PATH:LINE: KIND CONTAINER.NAME: the best ones first, and a note if some are left out. Skips what .gitignore files name.",
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
      const refreshed = await refreshSymbols(grantedFiles(context), search, indexes.get(key));
      indexes.set(key, refreshed.index);
      const ranked = await rankSymbols(refreshed.found, query, search.pace);
      const symbols = ranked.slice(0, limit).map(({ symbol, path }) => ({ ...symbol, path }));
      if (ranked.length > limit) search.note(`The best ${limit} of ${ranked.length} symbols are shown.`);
      if (ranked.length === 0) {
        search.note("No symbol fits. Use fewer or shorter words, or search the text of the files instead.");
      }
      return { symbols, ...search.notes() };
    },
    modelText: ({ symbols, note }: FoundSymbols, reader) => {
      const lines = symbols.map(
        ({ path, line, kind, container, name }) =>
          `${onOneLine(path)}:${line}: ${kind} ${container === undefined ? "" : `${container}.`}${name}`,
      );
      const narrower = "Use more words to find fewer.";
      return listText({ lines, what: "symbols", none: "No symbol was found.", narrower, note }, reader);
    },
  });
  return [search];
}

interface FoundSymbols {
  readonly symbols: readonly (CodeSymbol & { readonly path: string })[];
  readonly note?: string;
}

/** Sessions and callers share no index, since a file that one of them can read may be granted to no other. */
function keyOf({ principal, sessionId, workspace }: HostContext): string {
  return JSON.stringify([principal?.kind, principal?.id, sessionId, workspace]);
}

/**
 * Finds the symbols that fit all words of a query: in their names, the names of their classes, or their paths. The best
 * ones are first: those whose names fit best, then by kind, and those of tests last.
 */
async function rankSymbols(
  { files }: WorkspaceSymbols,
  query: string,
  pace: Pace,
): Promise<readonly RankedSymbol[]> {
  const words = query.split(/[\s.:#/]+/).filter((word) => word !== "");
  const ranked: RankedSymbol[] = [];
  let count = 0;
  for (const { path, symbols } of files.values()) {
    const placeScore = placeScoreOf(path);
    const lowerPath = path.toLowerCase();
    for (const symbol of symbols) {
      if (++count % STEP === 0) await pace.turn();
      const score = scoreOf(symbol, lowerPath, words);
      if (score !== undefined) ranked.push({ symbol, path, score: score + placeScore });
    }
  }
  return ranked.sort(
    (a, b) =>
      b.score - a.score || (a.path < b.path ? -1 : a.path > b.path ? 1 : a.symbol.line - b.symbol.line),
  );
}

function placeScoreOf(path: string): number {
  const depth = path.split("/").length;
  return -Math.min(depth, 10) / 2 - (IN_TEST.test(path) ? TEST_PENALTY : 0);
}

function scoreOf(
  { name, kind, container = "" }: CodeSymbol,
  path: string,
  words: readonly string[],
): number | undefined {
  let total = 0;
  let isInName = false;
  for (const word of words) {
    const lower = word.toLowerCase();
    const inName = nameScore(name, word, lower);
    if (inName > 0) isInName = true;
    const around = container.toLowerCase().includes(lower)
      ? IN_CONTAINER
      : path.includes(lower)
        ? IN_PATH
        : 0;
    if (inName === 0 && around === 0) return undefined;
    total += Math.max(inName, around);
  }
  return isInName ? total / words.length + KIND_SCORES[kind] : undefined;
}

function nameScore(name: string, word: string, lower: string): number {
  if (name === word) return EXACT;
  const lowerName = name.toLowerCase();
  const at = lowerName.indexOf(lower);
  if (at < 0) return 0;
  if (lowerName === lower) return SAME_LETTERS;
  const longer = Math.min(name.length - word.length, 20) / 4;
  if (at === 0) return BEGINNING - longer;
  return (beginsWord(name, at) ? BEGINNING_OF_WORD : INSIDE) - longer;
}

function beginsWord(name: string, at: number): boolean {
  return /^(?:[^\p{L}\p{N}]|[\p{Ll}\p{N}]\p{Lu})/u.test(name.slice(at - 1, at + 1));
}
