import { beginning } from "../../base/text.ts";
import { blankJavaScript } from "./blank-javascript.ts";
import type { CodeSymbol, SymbolKind } from "./symbol.ts";

/** How much of a line is read, in UTF-16 code units. */
const MAX_LINE = 400;

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

/**
 * Reads the symbols that a module in TypeScript or JavaScript defines: outside of all braces, or in those of namespaces and
 * the like, and the methods of its classes. Like ctags, it looks at lines, and does not parse.
 */
export function javaScriptSymbols(text: string): readonly CodeSymbol[] {
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

type Found = Omit<CodeSymbol, "line">;

function declarationIn(line: string, depth: number): Found | undefined {
  // What functions define for themselves is of no use elsewhere; classes and functions in them may be.
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
