import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const RELATIVE_IMPORT = /(?:from |import\(|import )"(\.[^"]+)\.[jt]s"/g;

/**
 * Deletes the declarations in a folder that no entry point refers to. They are most of what TypeScript writes, and
 * refer to packages that are not installed because their code is bundled.
 */
export function deleteUnusedDeclarations(folder: string): void {
  const used = new Set<string>();
  const add = (file: string): void => {
    if (used.has(file)) return;
    used.add(file);
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(RELATIVE_IMPORT)) {
      add(normalize(join(dirname(file), `${path}.d.ts`)));
    }
  };
  for (const entry of globSync(`${folder}/entry/*.d.ts`)) add(normalize(entry));
  for (const file of globSync(`${folder}/**/*.d.ts`)) if (!used.has(normalize(file))) rmSync(file);
}
