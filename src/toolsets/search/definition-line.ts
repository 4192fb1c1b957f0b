/** How much before and after a symbol is looked at, in UTF-16 code units. */
const NEARBY = 300;

/** What is before the name of a definition, in the languages in which agents mostly program. */
const KEYWORD =
  /(?:^|[^\p{L}\p{N}_$.])(?:class|interface|type|enum|struct|trait|union|protocol|record|namespace|module|package|object|extension|function|func|fn|fun|def|sub|proc|const|let|var|val|static|impl|typedef|macro_rules!|#define)[ \t]*(?:[ \t]|\*)[ \t]*$/u;

/** Before the name of a method of Go. */
const RECEIVER = /(?:^|[ \t])func[ \t]*\([^()]*\)[ \t]*$/;

/** Before and after the name of a method in a class. */
const MODIFIERS =
  /^[ \t]*(?:(?:public|private|protected|internal|static|async|abstract|override|readonly|final|virtual|get|set|export|default)[ \t]+)*[*#]?$/;
const BODY = /^(?:<[^<>()]*>)?\([^()]*\)[^;{}()]*\{[ \t]*$/;

/** Whether the symbol at an index of a line seems to be defined there. */
export function isDefinition(line: string, at: number, length: number): boolean {
  const before = line.slice(Math.max(0, at - NEARBY), at);
  if (KEYWORD.test(before) || RECEIVER.test(before)) return true;
  const after = line.slice(at + length, at + length + NEARBY);
  return at < NEARBY && MODIFIERS.test(before) && BODY.test(after);
}
