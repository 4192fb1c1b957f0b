import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const SRC = resolve(import.meta.dirname, "../../src");

/** One file that another file loads or takes types from. Paths are relative to `src`. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** `false` for `import type`, which leaves nothing to load at run time. */
  readonly isLoaded: boolean;
}

/** The files of `src`. */
export const files: readonly string[] = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
  (file) => /\.tsx?$/.test(file),
);

/** `import … from "./x.ts"`, `export … from "./x.ts"`, `import("./x.ts")`. */
const SPECIFIER = /\b(import|export)\b(\s+type\b)?[^"';]*?\(?\s*"(\.{1,2}\/[^"]*\.tsx?)"/g;
/** `entryFile("sandboxes/x")`: the file that a thread or a child process starts with. */
const ENTRY_FILE = /\bentryFile\(\s*"([^"]+)"/g;

/** Reads a file of `src`. */
export function sourceOf(file: string): string {
  return readFileSync(join(SRC, file), "utf8");
}

function importsOf(file: string): Import[] {
  const text = sourceOf(file);
  const specifiers = [...text.matchAll(SPECIFIER)].map(([, , type, specifier = ""]) => ({
    from: file,
    to: relative(SRC, resolve(SRC, dirname(file), specifier)),
    isLoaded: type === undefined,
  }));
  const entries = [...text.matchAll(ENTRY_FILE)].map(([, path = ""]) => ({
    from: file,
    to: `${path}.ts`,
    isLoaded: true,
  }));
  return [...specifiers, ...entries];
}

/** Every import between files of `src`, those made at run time included. */
export const imports: readonly Import[] = files.flatMap(importsOf);

/** The files that a file loads at run time in its own thread or process, directly or through others; itself included. */
export function loadedWith(entry: string): ReadonlySet<string> {
  const starts = new Set(startFiles());
  const loaded = new Set<string>();
  const visit = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const { from, to, isLoaded } of imports) {
      if (from === file && isLoaded && !starts.has(to)) visit(to);
    }
  };
  visit(entry);
  return loaded;
}

/** The files that threads and child processes start with. */
export function startFiles(): readonly string[] {
  const entries = files.flatMap((file) =>
    [...sourceOf(file).matchAll(ENTRY_FILE)].map(([, path = ""]) => `${path}.ts`),
  );
  return [...new Set(entries)];
}
