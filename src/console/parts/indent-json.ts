const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Indents a JSON text without parsing it, so that every number and every escape stays as it is. */
export function indentJson(text: string): string {
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  let indented = "";
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    if (token === "{" || token === "[") {
      const isEmpty = next === "}" || next === "]";
      if (!isEmpty) depth++;
      indented += token + (isEmpty ? "" : lineBreak(depth));
    } else if (token === "}" || token === "]") {
      const previous = tokens[at - 1];
      const isEmpty = previous === "{" || previous === "[";
      if (!isEmpty) depth--;
      indented += (isEmpty ? "" : lineBreak(depth)) + token;
    } else if (token === ",") indented += `,${lineBreak(depth)}`;
    else if (token === ":") indented += ": ";
    else indented += token;
  }
  return indented;
}

function lineBreak(depth: number): string {
  return `\n${"  ".repeat(Math.max(0, Math.min(depth, 64)))}`;
}
