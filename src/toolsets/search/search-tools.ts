import type { Tool } from "../../engine/tool.ts";
import { findReferences } from "./find-references.ts";
import { grep } from "./grep.ts";
import type { SearchTime } from "./search.ts";
import { searchFiles } from "./search-files.ts";

/** Tools that find files and lines. */
export function searchTools({ timeMs = 10_000 }: SearchTime): readonly Tool[] {
  return [searchFiles(timeMs), grep(timeMs), findReferences(timeMs)];
}
