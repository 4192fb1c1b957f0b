import {
  closeSync,
  constants,
  copyFileSync,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isNewerFormat, newerFormatText } from "../base/own-files.ts";
import { syscall, WorkspaceError } from "../workspace/error.ts";
import { Guard } from "../workspace/guard.ts";
import { fdPath } from "../workspace/paths.ts";
import { isDiskEntry, isObject, isPath } from "../workspace/staged/staged-record.ts";
import { openFile, readFile } from "./disk-entry.ts";
import type { WorkspacePlaces } from "./workspace-places.ts";

/** Maximum number of entries and bytes of a workspace that is copied. */
const MAX_ENTRIES = 100_000;
export const MAX_BYTES: number = 4 * 1_024 * 1_024 * 1_024;

/** Entries that are not copied: those that git could run, and Sandgate's own. */
const LEFT_OUT: readonly string[] = [".git", ".sandgate"];

/** An entry of a tree: a directory, the digest of a file, or the target of a link. */
export type TreeEntry =
  | { readonly kind: "directory" }
  | { readonly kind: "file"; readonly sha256: string; readonly bytes: number }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "other" };

/** The entries of a tree by their paths. */
export type Tree = ReadonlyMap<string, TreeEntry>;

/** A workspace or its repository is too large to be copied. */
export class TooLargeError extends RangeError {
  override readonly name = "TooLargeError";
}

/**
 * Copies a workspace. No link is followed, even if other processes change the workspace meanwhile, and no
 * program runs.
 *
 * @throws {TooLargeError} as a rejection, if it has more than 100,000 entries or 4 GiB.
 */
export async function copyTree(from: WorkspacePlaces, to: string): Promise<void> {
  let bytes = 0;
  for await (const [path, entry] of entriesOf(from)) {
    const target = join(to, path);
    if (entry.isDirectory())
      mkdirSync(target, { mode: from.at(path, (source) => lstatSync(source).mode & 0o777) });
    else if (entry.isSymbolicLink())
      symlinkSync(
        from.at(path, (source) => readlinkSync(source)),
        target,
      );
    else if (entry.isFile()) {
      bytes += copyFile(from, path, target);
      if (bytes > MAX_BYTES) throw new TooLargeError("the workspace has more than 4 GiB");
    }
  }
}

/** Copies a file of a tree to a new path. Returns its size in bytes. */
export function copyFile(from: WorkspacePlaces, path: string, target: string): number {
  const fd = openFile(from, path);
  try {
    const { size } = fstatSync(fd);
    if (size > MAX_BYTES) throw new TooLargeError("the workspace has more than 4 GiB");
    syscall(() => copyFileSync(fdPath(fd), target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL));
    return size;
  } finally {
    closeSync(fd);
  }
}

/** Reads all entries of a tree. */
export async function readTree(root: WorkspacePlaces): Promise<Tree> {
  const tree = new Map<string, TreeEntry>();
  for await (const [path, entry] of entriesOf(root)) tree.set(path, await readEntry(root, path, entry));
  return tree;
}

async function readEntry(root: WorkspacePlaces, path: string, entry: Dirent): Promise<TreeEntry> {
  if (entry.isDirectory()) return { kind: "directory" };
  if (entry.isSymbolicLink())
    return { kind: "link", target: root.at(path, (source) => readlinkSync(source)) };
  if (!entry.isFile()) return { kind: "other" };
  let bytes = 0;
  const sha256 = await readFile(root, path, (chunk) => {
    bytes += chunk.length;
  });
  return { kind: "file", sha256, bytes };
}

/**
 * Lists a tree, each directory before its contents.
 *
 * @param start The directory to list. Default: the whole tree.
 * @throws {TooLargeError} as a rejection, if there are more than 100,000 entries.
 */
export async function* entriesOf(
  root: WorkspacePlaces,
  start = "",
): AsyncGenerator<readonly [string, Dirent]> {
  const waiting = [start];
  const guard = Guard.current();
  let count = 0;
  for (let directory = waiting.shift(); directory !== undefined; directory = waiting.shift()) {
    for (const entry of root.list(directory)) {
      if (LEFT_OUT.includes(entry.name)) continue;
      if (++count > MAX_ENTRIES)
        throw new TooLargeError(`the workspace has more than ${MAX_ENTRIES} entries`);
      if (count % 100 === 0) await setImmediate();
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (guard?.accessTo(join(root.workspace, path)) === "none") continue;
      yield [path, entry];
      if (entry.isDirectory()) waiting.push(path);
    }
  }
}

/** The format of stored trees. */
const FORMAT = 1;

/** Returns the text of a tree as it is stored. */
export function treeText(tree: Tree): string {
  return JSON.stringify({ format: FORMAT, entries: [...tree] });
}

/**
 * Reads a tree that was stored in the workspace, where other programs can have written it.
 *
 * @returns `undefined` if Sandgate has not written it.
 * @throws {WorkspaceError} if it has a newer format.
 */
export function parseTree(value: unknown): Tree | undefined {
  // Files without a format number contain the entries alone.
  const stored = isObject(value) ? value["entries"] : value;
  if (isObject(value) && isNewerFormat(value["format"], FORMAT))
    throw new WorkspaceError(
      "unsupported",
      `the copy of the workspace ${newerFormatText(value["format"], FORMAT)}`,
    );
  if (!Array.isArray(stored)) return undefined;
  const entries: unknown[] = stored;
  const isTree = entries.every((each) => Array.isArray(each) && isPath(each[0]) && isTreeEntry(each[1]));
  return isTree ? new Map(entries as [string, TreeEntry][]) : undefined;
}

function isTreeEntry(value: unknown): boolean {
  return isDiskEntry(value) || (isObject(value) && value["kind"] === "other");
}
