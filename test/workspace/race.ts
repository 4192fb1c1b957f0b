import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openDirectory, openFile } from "../../src/workspace/entries.ts";
import { locate } from "../../src/workspace/locate.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import { codeOf, GrantedTree, listNames, readText, textOf, writeText } from "./granted-tree.ts";

/** The result of a race. */
export interface RaceCounts {
  readonly operations: number;
  /** Operations that succeeded. */
  readonly good: number;
  /** Operations that read or changed something outside. */
  readonly outside: number;
}

/** The files that are swapped for others. */
const FILES = ["d/f", "f", "h", "x/y/z/f"];

/** Longer than the files inside, which makes it recognisable by its size. */
const CANARY = "CANARY OUTSIDE";

/**
 * Uses a granted directory while another thread renames its entries and replaces them by links to the
 * outside.
 *
 * @param goesOn Called before each round, with the number of operations so far. Returns whether to continue.
 */
export async function race(goesOn: (operations: number) => boolean): Promise<RaceCounts> {
  using tree = new GrantedTree();
  writeFileSync(join(tree.outside, "secret.txt"), CANARY);
  mkdirSync(join(tree.outside, "z"));
  writeFileSync(join(tree.outside, "z/f"), CANARY);
  writeFileSync(join(tree.outside, "f"), CANARY);
  const names = readdirSync(tree.outside, { recursive: true }).sort();
  const workerData = { root: tree.root, outside: tree.outside };
  const flipping = new Worker(new URL("./flip.ts", import.meta.url), { workerData });
  try {
    await new Promise((resolve, reject) => flipping.once("message", resolve).once("error", reject));
    const grants = [{ directory: tree.root, write: true }];
    const fileGrants = FILES.map((file) => ({
      file: join(tree.root, file),
      within: tree.root,
      at: `/${file}`,
      write: true,
    }));
    const counts = { operations: 0, good: 0, outside: 0 };
    while (goesOn(counts.operations)) {
      using workspace = new Workspace(grants, 1_024);
      for (const { directory } of workspace.directories) runRound(directory, counts);
      using files = new Workspace(fileGrants, 1_024);
      runFileRound(files, counts);
      const now = readdirSync(tree.outside, { recursive: true }).sort();
      if (String(now) !== String(names)) counts.outside++;
      for (const file of ["secret.txt", "z/f", "f"]) {
        if (readFileSync(join(tree.outside, file), "utf8") !== CANARY) counts.outside++;
      }
    }
    return counts;
  } finally {
    await flipping.terminate();
  }
}

type Counts = { -readonly [Name in keyof RaceCounts]: number };

/** Runs each operation once, in a granted directory. */
function runRound(directory: ToolDirectory, counts: Counts): void {
  const sizeOf = (path: string): string => `${directory.stat(path, { follow: true }).size} bytes`;
  const attempts: (() => string | undefined)[] = [
    ...["d/f", "f", "h", "x/y/z/f", "d/secret.txt"].map((path) => () => readText(directory, path)),
    ...["d/f", "f", "h", "x/y/z/f", "d/secret.txt"].map((path) => () => sizeOf(path)),
    ...["d/f", "f", "h", "x/y/z/f"].map((path) => () => void writeText(directory, path, "OK")),
    ...["d", "x/y"].map((path) => () => listNames(directory, path).join()),
    ...["d/new", "x/y/new", "x/y/z/new"].flatMap((path) => [
      () => void writeText(directory, path, "NEW"),
      () => void directory.rename(path, directory, `${path}er`),
      () => void directory.removeFile(`${path}er`),
      () => void directory.createDirectory(path),
      () => void directory.removeDirectory(path),
    ]),
    () => throughHeld(directory, "d"),
    ...FILES.map((path) => () => void replaceText(directory, path)),
    () => throughHeld(directory, "x/y/z"),
  ];
  runAll(attempts, counts);
}

/** Runs each operation on files that were granted one by one. */
function runFileRound({ directories }: Workspace, counts: Counts): void {
  const attempts = FILES.flatMap((file): (() => string | undefined)[] => {
    const { directory, path } = locate(directories, `/${file}`);
    return [
      () => readText(directory, path),
      () => `${directory.stat(path).size} bytes`,
      () => void writeText(directory, path, "OK"),
      () => void replaceText(directory, path),
    ];
  });
  runAll(attempts, counts);
}

/** An attempt returns what it read, as text. */
function runAll(attempts: readonly (() => string | undefined)[], counts: Counts): void {
  for (const attempt of attempts) {
    counts.operations++;
    const result = codeOf(attempt);
    if (typeof result === "string") continue;
    const { returned } = result as { readonly returned: string | undefined };
    if (returned !== undefined && /CANARY|secret|14 bytes/.test(returned)) counts.outside++;
    else counts.good++;
  }
}

function replaceText(directory: ToolDirectory, path: string): void {
  using replacement = directory.replace(path, { create: true });
  replacement.file.write(0, Buffer.from("OK"));
  replacement.commit();
}

/** Opens a directory, and uses it while something else may have its name. */
function throughHeld(directory: ToolDirectory, path: string): string {
  const held = openDirectory(directory, path);
  try {
    const seen = readText(held, "f");
    const file = openFile(held, "held", { read: true, write: true, create: true });
    file.write(0, Buffer.from("HELD"));
    const written = textOf(file.read(0, 10));
    file.close();
    held.removeFile("held");
    return seen + written;
  } finally {
    held.close();
  }
}
