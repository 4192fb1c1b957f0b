/** After one of these, a slash begins a regular expression, not a division. */
const BEFORE_REGEXP =
  /(?:^|[=(,:;[!&|?{}+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|await|yield))$/;

const LINE_FEED = 0x0a;

/** How much before a slash is looked at, in UTF-16 code units. */
const NEARBY = 12;

/**
 * Returns the text of a module in TypeScript or JavaScript without its comments, and without what is in its strings,
 * templates and regular expressions. Line ends are retained, also those in templates. JSX is read as if it were code.
 */
export function blankJavaScript(text: string): string {
  const pieces: string[] = [];
  /** The end of what was written last, without white space. */
  let before = "";
  const write = (piece: string): void => {
    pieces.push(piece);
    const code = piece.trimEnd().slice(-NEARBY);
    if (code !== "") before = (before + code).slice(-NEARBY);
  };
  /** The number of open braces in each `${…}` that is open. */
  const substitutions: number[] = [];
  let at = 0;
  const skip = (end: number, shown: string): void => {
    write(shown + "\n".repeat(countLines(text, at, end)));
    at = end;
  };
  const template = (start: number): void => {
    const end = endOfTemplate(text, start);
    if (text.startsWith("${", end - 2)) substitutions.push(0);
    skip(end, '"');
  };
  const plain = /[^/'"`{}]+/y;
  while (at < text.length) {
    plain.lastIndex = at;
    const code = plain.exec(text);
    if (code !== null) {
      write(code[0]);
      at = plain.lastIndex;
      continue;
    }
    const character = text[at] ?? "";
    if (character === "/" && text[at + 1] === "/") skip(endOfLine(text, at), " ");
    else if (character === "/" && text[at + 1] === "*") skip(endOf(text, "*/", at + 2), " ");
    else if (character === "/") {
      if (BEFORE_REGEXP.test(before)) skip(endOfRegExp(text, at + 1), '"');
      else skip(at + 1, "/");
    } else if (character === "'" || character === '"') skip(endOfString(text, at + 1, character), '"');
    else if (character === "`") template(at + 1);
    else {
      const open = substitutions.at(-1);
      if (character === "}" && open === 0) {
        substitutions.pop();
        template(at + 1);
        continue;
      }
      if (open !== undefined) substitutions[substitutions.length - 1] = open + (character === "{" ? 1 : -1);
      skip(at + 1, character);
    }
  }
  return pieces.join("");
}

/** Never reads past the end: a search would read to the end of a long line for each of its characters. */
function countLines(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === LINE_FEED) count++;
  return count;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.length : end;
}

function endOf(text: string, mark: string, start: number): number {
  const end = text.indexOf(mark, start);
  return end < 0 ? text.length : end + mark.length;
}

/** A string ends at the end of its line at the latest. */
function endOfString(text: string, start: number, quote: string): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at + 1;
    else if (text[at] === "\n") return at;
  }
  return text.length;
}

/** @returns the index behind the end of a template, or behind the `${` in it. */
function endOfTemplate(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "`") return at + 1;
    else if (text.startsWith("${", at)) return at + 2;
  }
  return text.length;
}

function endOfRegExp(text: string, start: number): number {
  let isInSet = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === "\\") at++;
    else if (character === "[") isInSet = true;
    else if (character === "]") isInSet = false;
    else if (character === "/" && !isInSet) return at + 1;
    else if (character === "\n") return at;
  }
  return text.length;
}
