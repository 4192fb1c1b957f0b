import { beginning } from "../../base/text.ts";
import type { CodeSymbol } from "./symbol.ts";

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

/**
 * Reads the symbols that a module in Python defines: classes, functions, methods, types, and the variables of the module.
 * Like ctags, it looks at lines, and does not parse.
 */
export function pythonSymbols(text: string): readonly CodeSymbol[] {
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

/** Returns a text without what is in strings with three quotes. Line ends are kept. */
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
