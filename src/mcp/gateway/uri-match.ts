/** Operators of expressions whose values may have any character (RFC 6570, section 3.2). */
const OPERATORS = /^[+#./;?&]/;

/** Where the literal texts of a URI template are, and which of the gaps between them may have a `/`. */
export interface UriMatcher {
  readonly literals: readonly string[];
  readonly gaps: readonly { readonly names: readonly string[]; readonly isSegment: boolean }[];
}

/**
 * Reads a URI template (RFC 6570). A server's template is never made into a pattern: several expressions side by side would
 * take time that grows with a power of the URI's length.
 */
export function readTemplate(uriTemplate: string): UriMatcher {
  const literals: string[] = [];
  const gaps: UriMatcher["gaps"][number][] = [];
  const pieces = uriTemplate.split(/\{([^{}]*)\}/);
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 0) literals.push(piece);
    else {
      const names = piece.replace(OPERATORS, "").split(",");
      gaps.push({
        names: names.map((name) => name.replace(/(?:\*|:\d+)$/, "")),
        isSegment: !OPERATORS.test(piece),
      });
    }
  }
  return { literals, gaps };
}

/** Whether a URI can be one of a template: its literal texts are there in order, and no simple value has a `/`. Linear. */
export function matchesTemplate({ literals, gaps }: UriMatcher, uri: string): boolean {
  const [first = ""] = literals;
  if (gaps.length === 0) return uri === first;
  if (!uri.startsWith(first)) return false;
  let position = first.length;
  for (const [index, { isSegment }] of gaps.entries()) {
    const literal = literals[index + 1] ?? "";
    const isLast = index === gaps.length - 1;
    const end = isLast ? uri.length - literal.length : uri.indexOf(literal, position);
    if (end < position || (isLast && !uri.endsWith(literal))) return false;
    if (isSegment && uri.slice(position, end).includes("/")) return false;
    position = end + literal.length;
  }
  return true;
}
