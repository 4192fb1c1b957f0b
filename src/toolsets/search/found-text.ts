import type { ModelReader } from "../../tool/tool-traits.ts";
import { listText, onOneLine } from "../model-texts.ts";
import type { FileLines } from "./matched-lines.ts";

/** Paths that a search found. */
export interface FoundPaths {
  readonly paths: readonly string[];
  readonly note?: string;
}

/** What `grep` returns. */
export type Grepped = FoundPaths | { readonly matches: readonly FileLines[]; readonly note?: string };

/** Returns how the model reads paths: one on a line. */
export function pathsText({ paths, note }: FoundPaths, reader: ModelReader): string {
  const lines = paths.map(onOneLine);
  return listText({ lines, what: "files", none: "No files were found.", note }, reader);
}

/** Returns how the model reads matches: as grep writes them, `PATH:NUMBER:TEXT`, and `PATH-NUMBER-TEXT` for lines around one. */
export function greppedText(found: Grepped, reader: ModelReader): string {
  if ("paths" in found) return pathsText(found, reader);
  const { matches, note } = found;
  const lines: string[] = [];
  const results = new Set<number>();
  const isGrouped = matches.some(hasContext);
  for (const file of matches) {
    const path = onOneLine(file.path);
    let last = Number.NEGATIVE_INFINITY;
    for (const line of file.lines) {
      const [, digits = "", mark = ":"] = /^(\d+)([:-])/.exec(line) ?? [];
      const number = Number(digits);
      if (isGrouped && lines.length > 0 && number > last + 1) lines.push("--");
      last = number;
      if (mark === ":") results.add(lines.length);
      lines.push(`${path}${mark}${line}`);
    }
  }
  return listText(
    {
      lines,
      what: "matches",
      none: "No lines match.",
      note,
      isResult: (index) => results.has(index),
    },
    reader,
  );
}

function hasContext({ lines }: FileLines): boolean {
  return lines.some((line) => /^\d+-/.test(line));
}
