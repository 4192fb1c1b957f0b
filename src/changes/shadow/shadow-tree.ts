import {
  closeSync,
  constants,
  copyFileSync,
  type Dirent,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { hashOf } from "../disk-entry.ts";

/** The most entries and bytes of a workspace that is copied. */
const MAX_ENTRIES = 100_000;
const MAX_BYTES: number = 4 * 1_024 * 1_024 * 1_024;

/** What is not copied: the history of the workspace, in which a program could leave work for others, and Sandgate's own. */
const LEFT_OUT: readonly string[] = [".git", ".sandgate"];

/** An entry of a tree: a directory, the digest of a file, or the target of a link. */
export type TreeEntry =
  | { readonly kind: "directory" }
  | { readonly kind: "file"; readonly sha256: string; readonly bytes: number }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "other" };

/** The entries of a tree by their paths. */
export type Tree = ReadonlyMap<string, TreeEntry>;

/** A workspace cannot be copied. */
export class TooLargeError extends RangeError {
  override readonly name = "TooLargeError";
}

/**
 * Copies a workspace. No link is followed, and no program runs.
 *
 * @throws {TooLargeError} as a rejection, if it has more than 100,000 entries or 4 GiB.
 */
export async function copyTree(from: string, to: string): Promise<void> {
  let bytes = 0;
  for await (const [path, entry] of entriesOf(from)) {
    const target = join(to, path);
    const source = join(from, path);
    if (entry.isDirectory()) mkdirSync(target, { mode: lstatSync(source).mode & 0o777 });
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.isFile()) {
      bytes += lstatSync(source).size;
      if (bytes > MAX_BYTES) throw new TooLargeError("the workspace has more than 4 GiB");
      copyFileSync(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    }
  }
}

/** Reads all entries of a tree. */
export async function readTree(root: string): Promise<Tree> {
  const tree = new Map<string, TreeEntry>();
  for await (const [path, entry] of entriesOf(root)) tree.set(path, await readEntry(join(root, path), entry));
  return tree;
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

async function readEntry(path: string, entry: Dirent): Promise<TreeEntry> {
  if (entry.isDirectory()) return { kind: "directory" };
  if (entry.isSymbolicLink()) return { kind: "link", target: readlinkSync(path) };
  if (!entry.isFile()) return { kind: "other" };
  const fd = openSync(path, FLAGS);
  try {
    let bytes = 0;
    const sha256 = await hashOf(fd, (chunk) => {
      bytes += chunk.length;
    });
    return { kind: "file", sha256, bytes };
  } finally {
    closeSync(fd);
  }
}

async function* entriesOf(root: string): AsyncGenerator<readonly [string, Dirent]> {
  const waiting = [""];
  let count = 0;
  for (let directory = waiting.shift(); directory !== undefined; directory = waiting.shift()) {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      if (LEFT_OUT.includes(entry.name)) continue;
      if (++count > MAX_ENTRIES)
        throw new TooLargeError(`the workspace has more than ${MAX_ENTRIES} entries`);
      if (count % 100 === 0) await setImmediate();
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      yield [path, entry];
      if (entry.isDirectory()) waiting.push(path);
    }
  }
}
