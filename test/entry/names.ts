import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const ENTRY = resolve(import.meta.dirname, "../../src/entry");

/** What an entry point exports, sorted by code units. */
export interface ExportedNames {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

/** Reads the names of an entry point: values from the loaded module, types from its source. */
export async function exportedNames(entry: string): Promise<ExportedNames> {
  const path = `${ENTRY}/${entry}.ts`;
  const values = Object.keys(await import(path)).sort();
  const clauses = [...readFileSync(path, "utf8").matchAll(/^export (type )?\{([^}]*)\} from /gm)];
  const types = clauses.flatMap(([, isType, clause = ""]) =>
    clause
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && (isType !== undefined || name.startsWith("type ")))
      .map((name) => name.replace(/^type /, "")),
  );
  return { values, types: types.sort() };
}
