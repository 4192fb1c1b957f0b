import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** One row of the table of modules in CONTRIBUTING.md. */
export interface Module {
  /** A folder below `src`, such as `json` or `sandboxes/contract`. */
  readonly path: string;
  readonly mayImport: ReadonlySet<string>;
}

const ROW = /^\| `([\w/-]+)\/` \|[^|]*\| ([^|]*) \|$/gm;

/** The table of modules in CONTRIBUTING.md, from the bottom up. */
export function readModuleTable(): readonly Module[] {
  const text = readFileSync(resolve(import.meta.dirname, "../../CONTRIBUTING.md"), "utf8");
  return [...text.matchAll(ROW)].map(([, path = "", cell = ""]) => ({
    path,
    mayImport: new Set([...cell.matchAll(/`([\w/-]+)`/g)].map(([, name = ""]) => name)),
  }));
}

/** The module that a file of `src` belongs to: the row with the longest path. */
export function moduleOf(file: string, modules: readonly Module[]): string {
  const paths = modules.map(({ path }) => path).filter((path) => file.startsWith(`${path}/`));
  return paths.reduce((longest, path) => (path.length > longest.length ? path : longest), "");
}
