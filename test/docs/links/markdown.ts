/** A link of a document: its target as it is written, and the line on which it stands. */
export interface Link {
  readonly target: string;
  readonly line: number;
}

/** Returns a Markdown text with its code blocks and code spans blanked out, on the same lines. */
function withoutCode(text: string): string {
  const blank = (code: string): string => code.replace(/[^\n]/g, " ");
  return text
    .replace(/^( *)(```+|~~~+).*\n[\s\S]*?^\1\2 *$/gm, blank)
    .replace(/(`+)(?!`).*?[^`]\1(?!`)/gs, blank);
}

/** The links of a document: inline links and images, reference definitions, and the attributes of HTML. */
export function linksIn(text: string): readonly Link[] {
  const plain = withoutCode(text);
  const forms = [
    /\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm,
    /<[a-z][^>]*\s(?:href|src)="([^"]+)"/g,
  ];
  return forms.flatMap((form) =>
    Array.from(plain.matchAll(form), ({ 1: target = "", index }) => ({
      target,
      line: plain.slice(0, index).split("\n").length,
    })),
  );
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsIn(text: string): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const anchors = new Set<string>();
  const plain = withoutCode(text).split("\n");
  for (const [index, line] of text.split("\n").entries()) {
    // A blanked line is code; a heading's own code spans count.
    const heading = /^#{1,6} /.test(plain[index] ?? "") ? line.replace(/^#+ /, "") : undefined;
    if (heading === undefined) continue;
    const words = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .trim()
      .toLowerCase();
    const slug = words.replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "").replaceAll(" ", "-");
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}
