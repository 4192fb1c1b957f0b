import { createHash } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { syscall, WorkspaceError } from "../../workspace/error.ts";
import type { HeldRecord } from "../../workspace/held/held-record.ts";
import type { HeldStore } from "../../workspace/held/held-store.ts";
import { type ConflictReason, conflictOf, findEntry, hashOf, readFile } from "../disk-entry.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import { type DiffedContents, fileDiff, MAX_DIFFED_BYTES } from "./file-diff.ts";

/** A change that waits for a person to accept or to reject it. */
export interface PendingChange {
  /** Relative to the workspace. Directories end with `/`. */
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  /**
   * The difference from the disk as a unified diff, or a line that says why there is none. It has the text of the files: what
   * shows it must render it first. A directory has none.
   */
  readonly diff: string;
  /** Identifies the change, with the new contents: what is accepted with it is what was shown. */
  readonly digest: string;
  /** Why the change cannot be accepted; absent if it can. It can be rejected. */
  readonly conflict?: ConflictReason;
}

/** Returns what is shown of a held change. */
export async function describe(
  places: WorkspacePlaces,
  store: HeldStore,
  record: HeldRecord,
): Promise<PendingChange> {
  const { path, was, now } = record;
  const conflict = await conflictOf(places, record);
  const shown = { digest: await digestOf(store, record), ...(conflict !== undefined && { conflict }) };
  const isDirectory = now.kind === "directory" || (now.kind === "gone" && was?.kind === "directory");
  if (isDirectory && was?.kind !== "file" && was?.kind !== "link") {
    return { path: `${path}/`, change: now.kind === "gone" ? "deleted" : "created", diff: "", ...shown };
  }
  const before = await contentsOnDisk(places, record);
  const after = now.kind === "file" ? await contentsOf(store, now.content) : undefined;
  const change = now.kind === "gone" ? "deleted" : was === null ? "created" : "modified";
  const diff = was?.kind === "link" ? linkDiff(path, was.target, after) : fileDiff(path, before, after);
  return { path, change, diff, ...shown };
}

function linkDiff(path: string, target: string, after: DiffedContents): string {
  const removed = `Link ${JSON.stringify(path)} to ${JSON.stringify(target)} is removed\n`;
  return after === undefined ? removed : removed + fileDiff(path, undefined, after);
}

/** Identifies a held change. Changes of the disk are found when it is accepted. */
export async function digestOf(store: HeldStore, { path, was, now }: HeldRecord): Promise<string> {
  const content = now.kind === "file" ? await hashContents(store, now.content, () => {}) : now.kind;
  return createHash("sha256")
    .update(JSON.stringify([path, was, now.kind, content]))
    .digest("hex");
}

async function contentsOnDisk(places: WorkspacePlaces, { path, was }: HeldRecord): Promise<DiffedContents> {
  if (was === null) return undefined;
  try {
    const found = findEntry(places, path);
    if (found.kind !== "file") return undefined;
    return await collect(found.stats.size, (take) => readFile(places, path, take));
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

function contentsOf(store: HeldStore, content: string): Promise<DiffedContents> {
  return collect(0, (take) => hashContents(store, content, take));
}

/** @param size At least this many bytes are there. */
async function collect(
  size: number,
  read: (take: (chunk: Buffer) => void) => Promise<unknown>,
): Promise<DiffedContents> {
  if (size > MAX_DIFFED_BYTES) return size;
  const chunks: Buffer[] = [];
  let length = 0;
  await read((chunk) => {
    length += chunk.length;
    if (length <= MAX_DIFFED_BYTES) chunks.push(Buffer.from(chunk));
  });
  return length > MAX_DIFFED_BYTES ? length : Buffer.concat(chunks);
}

async function hashContents(
  { contents }: HeldStore,
  content: string,
  take: (chunk: Buffer) => void,
): Promise<string> {
  const fd = syscall(() => openSync(join(contents, content), constants.O_RDONLY | constants.O_NOFOLLOW));
  try {
    return await hashOf(fd, take);
  } finally {
    closeSync(fd);
  }
}
