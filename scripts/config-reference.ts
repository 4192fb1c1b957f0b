/**
 * Writes docs/sandgate-yaml.md from the shapes that check a config, and the examples in scripts/reference/examples.yaml.
 *
 *     node scripts/config-reference.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configSchema } from "../src/cli/commands/schema.ts";
import { configPage, examplesIn } from "./reference/config-page.ts";

const ROOT = join(import.meta.dirname, "..");

const examples = examplesIn(readFileSync(join(ROOT, "scripts/reference/examples.yaml"), "utf8"));
writeFileSync(join(ROOT, "docs/sandgate-yaml.md"), configPage(configSchema(), examples));
