import { beginning } from "../../base/text.ts";
import { formatBytes } from "../../base/units.ts";
import { FileFailure } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { readAhead } from "../files/pace.ts";
import type { Search } from "../search/search.ts";
import { blankJavaScript } from "./blank-javascript.ts";

/** What a symbol is. */
export type SymbolKind = "class" | "function" | "method" | "type" | "constant" | "variable";

/** A symbol that a file defines. */
export interface CodeSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** The line of its definition, from 1. */
  readonly line: number;
  /** The class that it belongs to, for methods. */
  readonly container?: string;
}

const EXPORTED = "(?:export[ \\t]+)?(?:default[ \\t]+)?(?:declare[ \\t]+)?";

const NAME = "([\\p{L}_$][\\p{L}\\p{N}_$]*)";

const DECLARATIONS: readonly (readonly [SymbolKind, RegExp])[] = [
  ["class", new RegExp(`^${EXPORTED}(?:abstract[ \\t]+)?class[ \\t]+${NAME}`, "u")],
  ["function", new RegExp(`^${EXPORTED}(?:async[ \\t]+)?function[ \\t]*\\*?[ \\t]*${NAME}`, "u")],
  [
    "type",
    new RegExp(
      `^${EXPORTED}(?:const[ \\t]+)?(?:interface|type|enum|namespace)[ \\t]+${NAME}[ \\t]*(?:[={<]|extends|$)`,
      "u",
    ),
  ],
  [
    "function",
    new RegExp(
      `^${EXPORTED}(?:const|let|var)[ \\t]+${NAME}[^=]*=[ \\t]*(?:async[ \\t]*)?(?:function\\b|[\\p{L}\\p{N}_$]+[ \\t]*=>|(?:<[^<>()]*>)?\\([^()]*\\)[^()=;]*=>|\\([^()]*$)`,
      "u",
    ),
  ],
  ["constant", new RegExp(`^${EXPORTED}const[ \\t]+${NAME}`, "u")],
  ["variable", new RegExp(`^${EXPORTED}(?:let|var)[ \\t]+${NAME}`, "u")],
];

const METHOD = new RegExp(
  `^(?:(?:public|private|protected|static|async|abstract|override|readonly|declare|get|set|accessor)[ \\t]+)*[*#]?[ \\t]*${NAME}[?!]?[ \\t]*(?:<[^<>()]*>)?\\(`,
  "u",
);

const FIELD_FUNCTION = new RegExp(
  `^(?:(?:public|private|protected|static|override|readonly)[ \\t]+)*#?${NAME}[^=(]*=[ \\t]*(?:async[ \\t]*)?(?:\\([^()]*\\)[^()=;]*=>|[\\p{L}\\p{N}_$]+[ \\t]*=>)`,
  "u",
);

const NO_METHODS: ReadonlySet<string> = new Set(
  "if for while switch catch return function super new typeof await yield throw do else with import delete void".split(
    " ",
  ),
);

/** A class whose body is open. */
interface OpenClass {
  readonly name: string;
  /** How many braces are open in its body; `undefined` before it begins. */
  depth: number | undefined;
}

type Found = Omit<CodeSymbol, "line">;

/** How much of a line is read, in UTF-16 code units. */
const MAX_LINE = 400;

const CLASS = /^class[ \t]+([\p{L}_][\p{L}\p{N}_]*)/u;

const FUNCTION = /^(?:async[ \t]+)?def[ \t]+([\p{L}_][\p{L}\p{N}_]*)/u;

const TYPE = /^type[ \t]+([\p{L}_][\p{L}\p{N}_]*)[ \t]*[[=]/u;

const VARIABLE = /^([\p{L}_][\p{L}\p{N}_]*)[ \t]*(?::[^=]*)?=(?!=)/u;

const CONSTANT = /^[\p{Lu}_][\p{Lu}\p{N}_]*$/u;

/** A class or function whose body is open. */
interface OpenBlock {
  readonly indent: number;
  /** Its name if it is a class. */
  readonly className: string | undefined;
}

/** Reads the symbols of a file's text. */
type SymbolReader = (text: string) => readonly CodeSymbol[];

const READERS: ReadonlyMap<string, SymbolReader> = new Map([
  ...["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"].map((end) => [end, javaScriptSymbols] as const),
  ...["py", "pyi"].map((end) => [end, pythonSymbols] as const),
]);

/** The largest file that is read: larger ones are mostly generated. */
const MAX_FILE_BYTES: number = 512 * 1_024;

/** Maximum number of symbols of a workspace. */
const MAX_SYMBOLS = 100_000;

/** The symbols of a file, as it was at a time. */
interface IndexedFile {
  readonly path: string;
  readonly modifiedMs: number;
  readonly size: number;
  readonly symbols: readonly CodeSymbol[];
}

/** The symbols of the files of a workspace, by their paths. */
export interface WorkspaceSymbols {
  readonly files: ReadonlyMap<string, IndexedFile>;
  /** How many symbols there are. */
  readonly size: number;
}

/** The symbols that a call may see, and the index for the next call. */
interface Refreshed {
  /** Files that this call has found. */
  readonly found: WorkspaceSymbols;
  /** With files of the previous index that this call had no time for. */
  readonly index: WorkspaceSymbols;
}

/**
 * Finds the files of a workspace, and reads those that have changed.
 *
 * @param before The index of the previous call in the same workspace.
 */
export async function refreshSymbols(
  files: WorkspaceFiles,
  search: Search,
  before: WorkspaceSymbols | undefined,
): Promise<Refreshed> {
  const found = new Map<string, IndexedFile>();
  let size = 0;
  const isCode = (path: string): boolean => symbolReader(path) !== undefined;
  const read = (path: string) => readFile(files, path, search, before?.files.get(path));
  for await (const file of readAhead(search.paths(".", isCode), read)) {
    if (file === undefined) continue;
    if (size + file.symbols.length > MAX_SYMBOLS) {
      search.note(`Only the first ${size} symbols of the workspace were searched.`);
      break;
    }
    found.set(file.path, file);
    size += file.symbols.length;
  }
  const indexed = new Map(found);
  let indexedSize = size;
  for (const [path, file] of search.pace.hasEnded ? (before?.files ?? []) : []) {
    if (indexed.has(path) || indexedSize + file.symbols.length > MAX_SYMBOLS) continue;
    indexed.set(path, file);
    indexedSize += file.symbols.length;
  }
  return { found: { files: found, size }, index: { files: indexed, size: indexedSize } };
}

/** @param known The file in the previous index. */
async function readFile(
  files: WorkspaceFiles,
  path: string,
  search: Search,
  known: IndexedFile | undefined,
): Promise<IndexedFile | undefined> {
  try {
    // Before it is read: if it changes meanwhile, its time will differ in the next call.
    const { modifiedMs, size } = await files.stat(path);
    if (known !== undefined && known.modifiedMs === modifiedMs && known.size === size) return known;
    if (size > MAX_FILE_BYTES) {
      search.note(`Files larger than ${formatBytes(MAX_FILE_BYTES)} were not searched.`);
      return undefined;
    }
    const text = Buffer.from(await files.readBytes(path)).toString("utf8");
    await search.pace.turn();
    const symbols = text.includes("\0") ? [] : (symbolReader(path)?.(text) ?? []);
    return { path, modifiedMs, size, symbols };
  } catch (error) {
    if (!(error instanceof FileFailure)) throw error;
    return undefined;
  }
}

/** Returns the reader for a file, if it is in a language that is read. */
export function symbolReader(path: string): SymbolReader | undefined {
  return READERS.get(path.slice(path.lastIndexOf(".") + 1));
}

/**
 * Reads the symbols that a module in Python defines: classes, functions, methods, types, and the variables of the module.
 * Like ctags, it looks at lines, and does not parse.
 */
function pythonSymbols(text: string): readonly CodeSymbol[] {
  const symbols: CodeSymbol[] = [];
  const blocks: OpenBlock[] = [];
  for (const [index, whole] of withoutLongStrings(text).split("\n").entries()) {
    const line = beginning(whole, MAX_LINE).trimEnd();
    const code = line.trimStart();
    if (code === "" || code.startsWith("#")) continue;
    const indent = line.length - code.length;
    while ((blocks.at(-1)?.indent ?? -1) >= indent) blocks.pop();
    const className = CLASS.exec(code)?.[1];
    const functionName = FUNCTION.exec(code)?.[1];
    const container = blocks.at(-1)?.className;
    const at = { line: index + 1 };
    if (className !== undefined) symbols.push({ name: className, kind: "class", ...at });
    else if (functionName !== undefined) {
      symbols.push(
        container === undefined
          ? { name: functionName, kind: "function", ...at }
          : { name: functionName, kind: "method", ...at, container },
      );
    } else if (indent === 0) {
      const type = TYPE.exec(code)?.[1];
      const name = type ?? VARIABLE.exec(code)?.[1];
      if (name === undefined) continue;
      const kind = type !== undefined ? "type" : CONSTANT.test(name) ? "constant" : "variable";
      symbols.push({ name, kind, ...at });
      continue;
    } else continue;
    blocks.push({ indent, className });
  }
  return symbols;
}

/** Returns a text without what is in strings with three quotes. Line ends are retained. */
function withoutLongStrings(text: string): string {
  const pieces: string[] = [];
  const token = /#[^\n]*|"""|'''|"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?/g;
  let at = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [mark] = found;
    if (mark !== '"""' && mark !== "'''") continue;
    let end = text.indexOf(mark, token.lastIndex);
    while (end >= 0 && isEscaped(text, end)) end = text.indexOf(mark, end + 1);
    const close = end < 0 ? text.length : end + mark.length;
    pieces.push(text.slice(at, found.index), '""', text.slice(found.index, close).replaceAll(/[^\n]+/g, ""));
    at = close;
    token.lastIndex = close;
  }
  pieces.push(text.slice(at));
  return pieces.join("");
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/**
 * Reads the symbols that a module in TypeScript or JavaScript defines: outside of all braces, or in those of namespaces and
 * the like, and the methods of its classes. Like ctags, it looks at lines, and does not parse.
 */
function javaScriptSymbols(text: string): readonly CodeSymbol[] {
  const symbols: CodeSymbol[] = [];
  const classes: OpenClass[] = [];
  let depth = 0;
  for (const [index, whole] of blankJavaScript(text).split("\n").entries()) {
    const line = beginning(whole, MAX_LINE).trim();
    const open = classes.at(-1);
    const found =
      open !== undefined && open.depth === depth ? methodIn(line, open.name) : declarationIn(line, depth);
    if (found !== undefined) {
      symbols.push({ ...found, line: index + 1 });
      if (found.kind === "class") classes.push({ name: found.name, depth: undefined });
    }
    for (const brace of whole.matchAll(/[{}]/g)) {
      depth = Math.max(0, depth + (brace[0] === "{" ? 1 : -1));
      const last = classes.at(-1);
      if (last === undefined) continue;
      if (last.depth === undefined) last.depth = depth;
      else if (depth < last.depth) classes.pop();
    }
  }
  return symbols;
}

function declarationIn(line: string, depth: number): Found | undefined {
  // Local variables of functions are of no use elsewhere; classes and functions in them may be.
  for (const [kind, pattern] of DECLARATIONS) {
    if (depth > 0 && (kind === "constant" || kind === "variable")) return undefined;
    const name = pattern.exec(line)?.[1];
    if (name !== undefined) return { name, kind };
  }
  return undefined;
}

function methodIn(line: string, container: string): Found | undefined {
  const name = (METHOD.exec(line) ?? FIELD_FUNCTION.exec(line))?.[1];
  return name === undefined || NO_METHODS.has(name) ? undefined : { name, kind: "method", container };
}
