import { createHash } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { syscall, WorkspaceError } from "../workspace/error.ts";
import type { StagedRecord } from "../workspace/staged/staged-record.ts";
import type { StagedStore } from "../workspace/staged/staged-store.ts";
import { type ConflictReason, conflictOf, findEntry, hashOf, readFile } from "./disk-entry.ts";
import {
  type DiffBudget,
  type DiffedContents,
  fileDiff,
  MAX_DIFFED_BYTES,
  omittedDiff,
} from "./file-diff.ts";
import type { WorkspacePlaces } from "./workspace-places.ts";

/** Staged changes by their paths. */
export class RecordsByPath {
  readonly #sorted: readonly StagedRecord[];
  readonly #byPath: ReadonlyMap<string, StagedRecord>;

  /** @param sorted All staged changes, sorted by path. */
  constructor(sorted: readonly StagedRecord[]) {
    this.#sorted = sorted;
    this.#byPath = new Map(sorted.map((record) => [record.path, record]));
  }

  /** Returns a change with those that have to be accepted before it: directories above it, and what was in it. */
  acceptedWith(record: StagedRecord): readonly StagedRecord[] {
    const above = directoriesAbove(record.path).flatMap((path) => this.#byPath.get(path) ?? []);
    const isReplaced = record.was?.kind === "directory" && record.now.kind !== "directory";
    const below = isReplaced ? this.#below(record.path) : [];
    return [
      ...above.filter(({ now }) => now.kind === "directory"),
      record,
      ...below.filter(({ now }) => now.kind === "gone"),
    ];
  }

  #below(directory: string): readonly StagedRecord[] {
    const prefix = `${directory}/`;
    let [start, end] = [0, this.#sorted.length];
    while (start < end) {
      const middle = (start + end) >>> 1;
      if ((this.#sorted[middle] as StagedRecord).path < prefix) start = middle + 1;
      else end = middle;
    }
    while (this.#sorted[end]?.path.startsWith(prefix)) end++;
    return this.#sorted.slice(start, end);
  }
}

/** A change that cannot be accepted. */
export interface ChangeConflict {
  /** Relative to the workspace. */
  readonly path: string;
  /**
   * `changed`, `deleted`, `replaced` (by something that is not a file, or another link), `created` (where
   * nothing was) or `not-empty`: the disk is not what the session saw. `unreachable`: a directory on the way
   * is no longer one. `protected`: no tool may change it. `not-shown`: the change is not the one that was
   * shown. `unsupported`: a link or a device of a shadow, which is not merged.
   */
  readonly reason: ConflictReason;
}

/** The result of accepting changes: either all were accepted, or there are conflicts. */
export interface AcceptedChanges {
  /** Relative to the workspace, sorted. Empty if there are conflicts. */
  readonly accepted: readonly string[];
  readonly conflicts: readonly ChangeConflict[];
}

/** Options of accepting changes. */
export interface AcceptOptions {
  /** The digest of what was shown. Default: the changes that are staged now. */
  readonly digest?: string;
}

/** A staged change that a person has not accepted or rejected yet. */
export interface PendingChange {
  /** Relative to the workspace. Directories end with `/`. */
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  /**
   * The difference from the disk as a unified diff, or a line that says why it is not shown. It contains text of the files, which
   * must be rendered before it is shown. Empty for a directory.
   */
  readonly diff: string;
  /** Set if the diff was omitted because too many were shown: the change can be read by its path. */
  readonly isOmitted?: true;
  /** Identifies the change, with the new contents and what is accepted with it: what is accepted is what was shown. */
  readonly digest: string;
  /** Why the change cannot be accepted; absent if it can. It can be rejected. */
  readonly conflict?: ConflictReason;
}

/** The context in which a list of changes is described. */
export interface ListedChanges {
  readonly store: StagedStore;
  /** All staged changes. */
  readonly all: RecordsByPath;
  /** The remaining budget for differences. */
  readonly budget: DiffBudget;
}

/** Returns what is shown of a staged change. */
export async function describe(
  places: WorkspacePlaces,
  listed: ListedChanges,
  record: StagedRecord,
): Promise<PendingChange> {
  const { store, budget } = listed;
  const { path, was, now } = record;
  const conflict = await conflictOf(places, record);
  const isShown = budget.bytes > 0;
  // What is shown must be what the digest identifies, even if a call is changing it: it is read once.
  const { contents: after, hash } = await contentsOf(store, record, isShown);
  const shown = { digest: await digestOf(listed, record, hash), ...(conflict !== undefined && { conflict }) };
  const isDirectory = now.kind === "directory" || (now.kind === "gone" && was?.kind === "directory");
  if (isDirectory && was?.kind !== "file" && was?.kind !== "link") {
    return { path: `${path}/`, change: now.kind === "gone" ? "deleted" : "created", diff: "", ...shown };
  }
  const change = now.kind === "gone" ? "deleted" : was === null ? "created" : "modified";
  if (!isShown) return { path, change, diff: omittedDiff(path), isOmitted: true, ...shown };
  const before = await contentsOnDisk(places, record);
  budget.bytes -= path.length + lengthOf(before) + lengthOf(after);
  const diff =
    was?.kind === "link" ? linkDiff(path, was.target, after) : fileDiff(path, before, after, budget);
  return { path, change, diff, ...shown };
}

function lengthOf(contents: DiffedContents): number {
  return typeof contents === "object" ? contents.length : 0;
}

function linkDiff(path: string, target: string, after: DiffedContents): string {
  const removed = `Link ${JSON.stringify(path)} to ${JSON.stringify(target)} is removed\n`;
  return after === undefined ? removed : removed + fileDiff(path, undefined, after);
}

/**
 * Identifies a staged change, with those that are accepted with it. Changes of the disk are found when it is accepted.
 *
 * @param hash The SHA-256 of the new contents. Default: they are read.
 */
export async function digestOf(
  { store, all }: Omit<ListedChanges, "budget">,
  record: StagedRecord,
  hash?: string,
): Promise<string> {
  const { path, was, now } = record;
  const content = now.kind === "file" ? (hash ?? (await hashContents(store, now.content))) : now.kind;
  const others = all
    .acceptedWith(record)
    .flatMap((other) => (other.path === path ? [] : [[other.path, other.was, other.now.kind]]));
  return createHash("sha256")
    .update(JSON.stringify([path, was, now.kind, content, others]))
    .digest("hex");
}

async function contentsOnDisk(places: WorkspacePlaces, { path, was }: StagedRecord): Promise<DiffedContents> {
  if (was === null) return undefined;
  try {
    const found = findEntry(places, path);
    if (found.kind !== "file") return undefined;
    if (found.stats.size > MAX_DIFFED_BYTES) return found.stats.size;
    const collected = new Collected();
    await readFile(places, path, collected.take);
    return collected.contents;
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

/** Reads the new contents. @param isShown Whether they are needed, or only their hash. */
async function contentsOf(
  store: StagedStore,
  { now }: StagedRecord,
  isShown: boolean,
): Promise<{ readonly contents: DiffedContents; readonly hash?: string }> {
  if (now.kind !== "file") return { contents: undefined };
  const collected = new Collected();
  const hash = await hashContents(store, now.content, isShown ? collected.take : undefined);
  return { contents: collected.contents, hash };
}

/** The contents of a file, unless they are too long. */
class Collected {
  #chunks: Buffer[] = [];
  #length = 0;

  readonly take = (chunk: Buffer): void => {
    this.#length += chunk.length;
    if (this.#length > MAX_DIFFED_BYTES) this.#chunks = [];
    else this.#chunks.push(Buffer.from(chunk));
  };

  get contents(): DiffedContents {
    return this.#length > MAX_DIFFED_BYTES ? this.#length : Buffer.concat(this.#chunks);
  }
}

/** Returns the SHA-256 of new contents. @param take Receives each chunk. Default: it is not needed. */
export async function hashContents(
  { contents }: StagedStore,
  content: string,
  take: (chunk: Buffer) => void = () => {},
): Promise<string> {
  const fd = syscall(() => openSync(join(contents, content), constants.O_RDONLY | constants.O_NOFOLLOW));
  try {
    return await hashOf(fd, take);
  } finally {
    closeSync(fd);
  }
}

/** Returns the SHA-256 of the new contents of files, by their paths. */
export async function hashAll(
  store: StagedStore,
  records: readonly StagedRecord[],
): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (const { path, now } of records) {
    if (now.kind === "file") hashes.set(path, await hashContents(store, now.content));
  }
  return hashes;
}

/** Identifies several changes together, by their digests: what accepting all of them takes as the digest of what was shown. */
export function digestOfAll(changes: readonly { readonly digest: string }[]): string {
  const digests = changes.map(({ digest }) => digest).sort();
  return createHash("sha256").update(digests.join("\n")).digest("hex");
}

function directoriesAbove(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Returns a change with those that depend on it: what is in it, and the removal of directories above it. */
export function rejectedWith(
  records: readonly StagedRecord[],
  record: StagedRecord,
): readonly StagedRecord[] {
  return records.filter((other) => {
    if (other.path === record.path) return true;
    if (isBelow(other.path, record.path)) return record.now.kind === "directory" && other.was === null;
    return isBelow(record.path, other.path) && other.now.kind !== "directory";
  });
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
