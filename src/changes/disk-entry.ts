import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readlinkSync,
  type Stats,
} from "node:fs";
import { promisify } from "node:util";
import { isOfThisUser } from "../workspace/entry-stat.ts";
import { syscallLater, syscallUnless, WorkspaceError } from "../workspace/error.ts";
import type { StagedRecord } from "../workspace/staged/staged-record.ts";
import type { WorkspacePlaces } from "./workspace-places.ts";

const readLater = promisify(read);
const CHUNK_BYTES = 1_024 * 1_024;

/** What is at a path now. */
export type FoundEntry =
  | { readonly kind: "missing" | "directory" | "other" }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "file"; readonly stats: Stats };

/** Looks at the entry of a path, without following it if it is a link. */
export function findEntry(places: WorkspacePlaces, path: string): FoundEntry {
  const found = syscallUnless(["no-entry", "not-directory"], () =>
    places.at(path, (entry): FoundEntry => {
      const stats = lstatSync(entry);
      if (stats.isDirectory()) return { kind: "directory" };
      if (stats.isSymbolicLink()) return { kind: "link", target: readlinkSync(entry) };
      return stats.isFile() && isOfThisUser(stats) ? { kind: "file", stats } : { kind: "other" };
    }),
  );
  return found ?? { kind: "missing" };
}

const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Opens a file of the workspace for reading. The caller must close it.
 *
 * @throws {WorkspaceError} if it is not a regular file.
 */
export function openFile(places: WorkspacePlaces, path: string): number {
  const fd = places.at(path, (entry) => openSync(entry, FILE_FLAGS));
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new WorkspaceError("not-permitted", "the path is not a regular file");
}

/**
 * Reads a file of the workspace without blocking this thread.
 *
 * @param take Receives each chunk. Default: nothing does.
 * @returns the SHA-256 of the contents, as 64 hexadecimal digits.
 * @throws {WorkspaceError} as a rejection, if it is not a regular file.
 */
export async function readFile(
  places: WorkspacePlaces,
  path: string,
  take: (chunk: Buffer) => unknown = () => {},
): Promise<string> {
  const fd = openFile(places, path);
  try {
    return await hashOf(fd, take);
  } finally {
    closeSync(fd);
  }
}

/** Reads an open file from its beginning. Returns the SHA-256 of the contents. */
export async function hashOf(fd: number, take: (chunk: Buffer) => unknown): Promise<string> {
  const hash = createHash("sha256");
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await syscallLater(
      readLater(fd, Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position),
    );
    if (bytesRead === 0) return hash.digest("hex");
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    await take(chunk);
    position += bytesRead;
  }
}

/** Why a staged change cannot be accepted. */
export type ConflictReason =
  | "changed"
  | "created"
  | "deleted"
  | "replaced"
  | "not-empty"
  | "unreachable"
  | "protected"
  | "not-shown"
  | "unsupported";

/** Returns why a staged change cannot be accepted now; `undefined` if it can. */
export async function conflictOf(
  places: WorkspacePlaces,
  { path, was, now }: StagedRecord,
): Promise<ConflictReason | undefined> {
  if (places.isProtected(path)) return "protected";
  let found: FoundEntry;
  try {
    found = findEntry(places, path);
  } catch (error) {
    // A directory on the way was replaced by a link or a file.
    if (error instanceof WorkspaceError) return "unreachable";
    throw error;
  }
  if (was === null) {
    if (found.kind === "missing" || (found.kind === "directory" && now.kind === "directory"))
      return undefined;
    return "created";
  }
  if (found.kind === "missing") return "deleted";
  if (found.kind !== was.kind) return "replaced";
  if (was.kind === "link")
    return found.kind === "link" && found.target === was.target ? undefined : "replaced";
  if (was.kind === "directory") return undefined;
  if (was.isStale) return "changed";
  return (await readFile(places, path)) === was.sha256 ? undefined : "changed";
}
