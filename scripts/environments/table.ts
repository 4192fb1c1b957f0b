import type { Environment, Way } from "./environment.ts";
import type { Results } from "./try-way.ts";

const BEGIN = "<!-- node scripts/environments.ts --write-docs -->\n";
const END = "<!-- end -->\n";

/** The head of the table. */
export const HEAD: readonly string[] = ["| environment | version | way | result |", "|---|---|---|---|"];

/** Returns the row of one way in an environment. */
export function rowOf({ name, packages }: Environment, way: Way, results: Results): string {
  const version = packages[0]?.replace(/^.+@/, "") ?? process.versions.node;
  return `| ${name} | ${version} | ${way.name} | ${resultOf(results)} |`;
}

/** Replaces the table of a document. */
export function withTable(docs: string, lines: readonly string[]): string {
  const [before, ...rest] = docs.split(BEGIN);
  const after = rest.join(BEGIN).split(END)[1];
  if (before === undefined || after === undefined) throw new Error("the document has no place for the table");
  return `${before}${BEGIN}\n${lines.join("\n")}\n\n${END}${after}`;
}

function resultOf({ thrown, ...calls }: Results): string {
  if (thrown !== undefined) return `fails: \`${cell(thrown)}\``;
  const failed = Object.entries(calls).filter(([, result]) => result !== "works");
  if (failed.length === 0) return "works";
  return failed.map(([name, result]) => `${name} fails: \`${cell(result)}\``).join("; ");
}

/** A text as it stands between backquotes in a cell, without a folder of this machine. */
function cell(text: string): string {
  const [line = ""] = text.split("\n");
  return line
    .replace(/^\(node:\d+\) /, "")
    .replaceAll(/(?:file:\/\/)?\/\S*sandgate-environments-\w+\/(?:built|deployed)/g, ".")
    .replaceAll("`", "'")
    .replaceAll("|", "\\|")
    .slice(0, 300);
}
