/**
 * Writes docs/api.md, the report of all exported names. With a folder, it also writes a page there for each entry point, with
 * the documentation and the type of each name.
 *
 *     node scripts/api-reference.ts [FOLDER]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiReference } from "./reference/api-pages.ts";

const [folder] = process.argv.slice(2);
const { pages, report } = apiReference();
writeFileSync(join(import.meta.dirname, "../docs/api.md"), report);
if (folder !== undefined) {
  mkdirSync(folder, { recursive: true });
  for (const [name, page] of pages) writeFileSync(join(folder, name), page);
}
