import { existsSync } from "node:fs";
import type { Tool } from "../../engine/tool.ts";
import { findReferences } from "./find-references.ts";
import { grep } from "./grep.ts";
import type { SearchTime } from "./search.ts";
import { searchFiles } from "./search-files.ts";

/** Where the sandbox `process` looks for programs. */
const RIPGREP = ["/usr/bin/rg", "/bin/rg"];

/** Tools that find files and lines. `grep` can run in the sandbox `process`, too, if ripgrep is installed. */
export function searchTools({ timeMs = 10_000 }: SearchTime): readonly Tool[] {
  const hasRipgrep = RIPGREP.some((path) => existsSync(path));
  return [searchFiles(timeMs), grep(timeMs, hasRipgrep), findReferences(timeMs)];
}
