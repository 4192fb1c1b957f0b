/** A declaration of an exported name. */
export interface Declaration {
  readonly name: string;
  readonly kind: string;
  /** The text of its documentation comment, without stars; empty if none. */
  readonly docs: string;
  /** TypeScript, without the comment. */
  readonly code: string;
}

const START = /^(?=\/\*\*|(?:export|declare|import|interface|type|class|const|function|abstract|enum)\b)/m;
const EXPORTED = /^export (?:declare )?(?:abstract )?(function|class|interface|type|const|enum) ([\w$]+)/;
const COMMENT = /^\/\*\*.*?\*\/\s*$/s;

/**
 * Finds the exported declarations in a text that the compiler has written (`.d.ts`), in which each statement begins at the
 * beginning of a line, and what belongs to it does not. An overload is a declaration of its own.
 */
export function declarationsIn(text: string): readonly Declaration[] {
  const found: Declaration[] = [];
  let docs = "";
  for (const statement of text.split(START)) {
    if (COMMENT.test(statement)) {
      docs = commentText(statement);
      continue;
    }
    const [, kind, name] = EXPORTED.exec(statement) ?? [];
    if (kind !== undefined && name !== undefined)
      found.push({ name, kind, docs, code: publicCode(statement) });
    docs = "";
  }
  return found;
}

function commentText(comment: string): string {
  return comment
    .trim()
    .replace(/^\/\*\*\s?|\s*\*\/$/g, "")
    .replace(/^ \* ?/gm, "")
    .trim();
}

/** A declaration without its private members. */
function publicCode(statement: string): string {
  return statement
    .trim()
    .replace(/^export (declare )?/, "")
    .replace(/^ {4}(?:#private;|private .*;)\n/gm, "");
}
