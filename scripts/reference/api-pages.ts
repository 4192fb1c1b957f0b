import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiPage, apiSection, COMMAND } from "./api-page.ts";

const ROOT = join(import.meta.dirname, "../..");

/** What is written of the package's surface. */
export interface ApiReference {
  /** The reference: a page for each entry point by its file name, such as `sessions.md`; that of `sandgate` is `index.md`. */
  readonly pages: ReadonlyMap<string, string>;
  /** All exported names, one line each. A review of it shows what changes for users. */
  readonly report: string;
}

/** Has the compiler declare the package, and describes each entry point in `exports` of package.json. */
export function apiReference(): ApiReference {
  const types = mkdtempSync(join(tmpdir(), "sandgate-types-"));
  try {
    execFileSync(process.execPath, [
      join(ROOT, "node_modules/typescript/bin/tsc"),
      "-p",
      join(ROOT, "tsconfig.build.json"),
      "--outDir",
      types,
    ]);
    const read = (module: string): string => readFileSync(join(types, `${module}.d.ts`), "utf8");
    const entries = entryPoints().map((name) => ({
      name,
      source: readFileSync(join(ROOT, `src/entry/${name}.ts`), "utf8"),
    }));
    const head = `# Every exported name\n\n<!-- Written by \`${COMMAND}\` from the types. -->\n\nEditors show the whole documentation of a name.\n`;
    return {
      pages: new Map(entries.map((entry) => [`${entry.name}.md`, apiPage(entry, read)])),
      report: [head, ...entries.map((entry) => apiSection(entry, read))].join("\n"),
    };
  } finally {
    rmSync(types, { recursive: true, force: true });
  }
}

/** The names of the entry points in package.json. */
function entryPoints(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    exports: Readonly<Record<string, { readonly types?: string }>>;
  };
  return Object.values(exports).flatMap(({ types = "" }) => /entry\/(\w+)\.d\.ts$/.exec(types)?.[1] ?? []);
}
