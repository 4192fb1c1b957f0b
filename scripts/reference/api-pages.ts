import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiPage } from "./api-page.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Has the compiler declare the package, and writes a page for each entry point in `exports` of package.json.
 *
 * @returns the pages by their file names, such as `sessions.md`; that of `sandgate` is `index.md`.
 */
export function apiPages(): ReadonlyMap<string, string> {
  const types = mkdtempSync(join(tmpdir(), "sandgate-types-"));
  try {
    execFileSync(process.execPath, [
      join(ROOT, "node_modules/typescript/bin/tsc"),
      ...["-p", join(ROOT, "tsconfig.build.json"), "--outDir", types],
    ]);
    const pages = entryPoints().map((name): [string, string] => {
      const source = readFileSync(join(ROOT, `src/entry/${name}.ts`), "utf8");
      const read = (module: string): string => readFileSync(join(types, `${module}.d.ts`), "utf8");
      return [`${name}.md`, apiPage({ name, source }, read)];
    });
    return new Map(pages);
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
