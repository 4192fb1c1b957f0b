/**
 * Writes docs/openapi.yaml from the routes and bodies of src/shapes and src/remote-protocol.
 *
 *     node scripts/openapi.ts [--check]
 *
 * With `--check`, only fails if the file is not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiText } from "./reference/openapi-page.ts";

const FILE = join(import.meta.dirname, "../docs/openapi.yaml");

if (!process.argv.includes("--check")) writeFileSync(FILE, openApiText());
else if (readFileSync(FILE, "utf8") !== openApiText()) {
  console.error("docs/openapi.yaml is not up to date: run node scripts/openapi.ts");
  process.exitCode = 1;
}
