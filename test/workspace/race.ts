import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { WorkspaceDirectory } from "../../src/workspace/directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import {
  codeOf,
  GrantedTree,
  listNames,
  openDirectory,
  openFile,
  readText,
  textOf,
  writeText,
} from "./granted-tree.ts";

/** What became of a race. */
export interface RaceCounts {
  readonly operations: number;
  /** Those that did what they were to do. */
  readonly good: number;
  /** Those that saw or changed anything outside. */
  readonly outside: number;
}

/** Of another length than what is inside: to be known by its size too. */
const CANARY = "CANARY OUTSIDE";

/**
 * Uses a granted directory while another thread renames in it and puts links to the outside there.
 *
 * @param goesOn Asked between rounds, with the number of operations so far.
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
    const counts = { operations: 0, good: 0, outside: 0 };
    while (goesOn(counts.operations)) {
      using workspace = new Workspace(grants, 1_024);
      for (const { directory } of workspace.directories) runRound(directory, counts);
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

/** Does everything once that may go wrong. Each operation returns what it saw, as text. */
function runRound(
  directory: WorkspaceDirectory,
  counts: { -readonly [Name in keyof RaceCounts]: number },
): void {
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
    () => throughHeld(directory, "x/y/z"),
  ];
  for (const attempt of attempts) {
    counts.operations++;
    const result = codeOf(attempt);
    if (typeof result === "string") continue;
    const { returned } = result as { readonly returned: string | undefined };
    if (returned !== undefined && /CANARY|secret|14 bytes/.test(returned)) counts.outside++;
    else counts.good++;
  }
}

/** Opens a directory, and uses it when something else may have its name. */
function throughHeld(directory: WorkspaceDirectory, path: string): string {
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
