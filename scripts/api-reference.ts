/**
 * Writes docs/api from the types of the package's entry points.
 *
 *     node scripts/api-reference.ts
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiPages } from "./reference/api-pages.ts";

const FOLDER = join(import.meta.dirname, "../docs/api");

const pages = apiPages();
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const [name, page] of pages) writeFileSync(join(FOLDER, name), page);
