import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FILES = 10_000;
const FILES_IN_DIRECTORY = 10;
const DIRECTORIES_IN_DIRECTORY = 10;
const FILE_BYTES = 4_000;
/** How many files have a match. */
const EVERY = 100;

/** What matches in {@link makeTree}. */
export const PATTERN = "needle_[0-9]+";
export const MATCHES: number = FILES / EVERY;

const WORDS = [
  "const",
  "return",
  "function",
  "import",
  "value",
  "index",
  "array",
  "string",
  "await",
  "error",
];

/** Creates a directory, which the caller removes. */
export function makeDirectory(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "bench-toolsets-")));
}

/** Creates a directory with 10,000 files of 4 KB of text, in 1,100 directories. */
export function makeTree(): string {
  const root = makeDirectory();
  for (let index = 0; index < FILES; index++) {
    const directory = Math.floor(index / FILES_IN_DIRECTORY);
    const path = join(root, `d${Math.floor(directory / DIRECTORIES_IN_DIRECTORY)}`, `e${directory}`);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, `f${index}.ts`), textOf(index));
  }
  writeFileSync(join(root, ".gitignore"), "node_modules/\n*.log\n");
  return root;
}

function textOf(seed: number): string {
  const lines: string[] = [];
  for (let length = 0, at = seed; length < FILE_BYTES; at++) {
    const words = Array.from({ length: 8 }, (_, place) => WORDS[(at * (place + 3)) % WORDS.length]);
    lines.push(`${words.join(" ")};`);
    length += (lines.at(-1)?.length ?? 0) + 1;
  }
  if (seed % EVERY === 0) lines.push(`the needle_${seed} is here`);
  return `${lines.join("\n")}\n`;
}

/** Removes what {@link makeTree} or {@link makeDirectory} made. */
export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
