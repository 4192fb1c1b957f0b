import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { LIBRARIES } from "../../scripts/bundled-packages.ts";
import { files, imports, sourceOf, startFiles } from "./import-graph.ts";
import { moduleOf, readModuleTable } from "./module-table.ts";

const SRC = resolve(import.meta.dirname, "../../src");

/** Something that a reader of the code has to cope with. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  /** The most that passes. */
  readonly most: number;
  readonly goal: number;
}

/** Returns a table for people, one line for each. */
export function measureTable(measures: readonly Measure[]): string {
  const rows = measures.map(({ name, value, most, goal }) => {
    return `${String(value).padStart(6)}  (at most ${most}, goal ${goal})  ${name}`;
  });
  return rows.join("\n");
}

/** From how many lines on a file with a single importer counts as a concept of its own. */
const SMALL = 40;

const entries = files.filter((file) => file.startsWith("entry/"));

/** Each file with the files that it imports, for their types or to load them. */
const importedBy = new Map(files.map((file) => [file, new Set<string>()]));
for (const { from, to } of imports) importedBy.get(from)?.add(to);

/** Files with few lines that one other file imports. */
export function smallFilesOfOne(): readonly string[] {
  const importers = new Map<string, number>();
  for (const imported of importedBy.values()) {
    for (const file of imported) importers.set(file, (importers.get(file) ?? 0) + 1);
  }
  // The build makes a file of each library, as it does of what a thread starts with.
  const starts = [...startFiles(), ...Object.keys(LIBRARIES).map((name) => `${name}.ts`)];
  return files.filter((file) => {
    const lines = sourceOf(file).split("\n").length - 1;
    return lines < SMALL && importers.get(file) === 1 && !starts.includes(file);
  });
}

/** From how many files and folders on a folder is worth its name. */
const FOLDER = 3;

/** Folders with one or two entries, which belong into the folder around them. */
export function smallFolders(): readonly string[] {
  const folders = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const paths = folders.map(({ parentPath, name }) => join(parentPath, name));
  return paths.filter((path) => readdirSync(path).length < FOLDER).map((path) => relative(SRC, path));
}

/** The longest chain of files, each of which imports the next one. */
export function longestChain(): readonly string[] {
  const longest = new Map<string, readonly string[]>();
  const from = (file: string): readonly string[] => {
    const known = longest.get(file);
    if (known !== undefined) return known;
    let rest: readonly string[] = [];
    for (const next of importedBy.get(file) ?? []) {
      const chain = from(next);
      if (chain.length > rest.length) rest = chain;
    }
    const chain = [file, ...rest];
    longest.set(file, chain);
    return chain;
  };
  return files.map(from).reduce((one, other) => (other.length > one.length ? other : one));
}

/** The files that a call of a host function enters. */
export function enteredByHostCall(): Promise<readonly string[]> {
  return enteredBy("host-call.ts");
}

/** The files that a turn over HTTP enters, with a read call or one that a person confirms. */
export function enteredByHttpTurn(kind: "read" | "confirm"): Promise<readonly string[]> {
  return enteredBy("http-turn.ts", kind);
}

async function enteredBy(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const path = join(import.meta.dirname, program);
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", path, ...args]);
  return JSON.parse(stdout);
}

/** The names that users can import: from `sandgate`, and from all entry points. */
export function exportedNames(): { readonly main: number; readonly all: number } {
  const counts = entries.map((file) => {
    const lists = [...sourceOf(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm)];
    return lists.flatMap(([, list = ""]) => list.split(",").filter((name) => name.trim() !== "")).length;
  });
  const all = counts.reduce((sum, count) => sum + count, 0);
  return { main: counts[entries.indexOf("entry/index.ts")] ?? 0, all };
}

/** Paths in a file of tests to one of `src`. */
const SOURCE_SPECIFIER = /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]*\/src\/[^"]+)"/g;

/** What stands above the import of an inside, and says why. */
const REASON = /^\s*\/\/ Inside: \S.*\.$/;

/** A test file that imports an inside of a module, or has a comment that says why it would. */
export interface TestOfInsides {
  readonly test: string;
  /** The insides, as paths below `src`. */
  readonly insides: readonly string[];
  /** Whether a reason stands above one of their imports, and nowhere else. */
  readonly hasReason: boolean;
}

/**
 * The test files that import an inside of a module: a file that no other module uses, and with which no program or
 * thread starts. They must change when the inside of the module does.
 */
export function testsOfInsides(): readonly TestOfInsides[] {
  const modules = readModuleTable();
  const starts = new Set(startFiles());
  const imported = new Set(imports.map(({ to }) => to));
  const isStart = (file: string): boolean => starts.has(file) || !imported.has(file);
  const faces = new Set(
    imports
      .filter(({ from, to }) => moduleOf(from, modules) !== moduleOf(to, modules) || isStart(from))
      .map(({ to }) => to),
  );
  const folder = resolve(import.meta.dirname, "..");
  const tests = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return tests
    .filter((test) => test.endsWith(".test.ts"))
    .map((test) => {
      const at = dirname(join(folder, test));
      const text = readFileSync(join(folder, test), "utf8");
      const found = [...text.matchAll(SOURCE_SPECIFIER)]
        .map(({ 1: specifier = "", index }) => ({
          file: relative(resolve(folder, "../src"), resolve(at, specifier)),
          line: firstLineOf(text, index),
        }))
        .filter(({ file }) => !faces.has(file) && !isStart(file));
      const lines = text.split("\n");
      const reasons = lines.flatMap((line, index) => (REASON.test(line) ? [index] : []));
      return {
        test,
        insides: found.map(({ file }) => file),
        hasReason: reasons.length > 0 && reasons.every((at) => found.some(({ line }) => line === at + 1)),
        reasons,
      };
    })
    .filter(({ insides, reasons }) => insides.length > 0 || reasons.length > 0);
}

/** The number of the line, from 0, on which the import begins that has this place of a text. */
function firstLineOf(text: string, index: number): number {
  const lines = text.slice(0, index).split("\n");
  const last = lines.length - 1;
  // A list of names ends with a line of its own, and begins with the line above that has the word.
  if (!lines[last]?.startsWith("}")) return last;
  return lines.findLastIndex((line) => line.startsWith("import "));
}
