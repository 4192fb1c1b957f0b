import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { EntryStat } from "../entry-stat.ts";
import { syscall, syscallUnless } from "../error.ts";

/** What was on the disk when a change was first staged. */
export type DiskEntry =
  | {
      readonly kind: "file";
      /** SHA-256 of the contents, as 64 hexadecimal digits. */
      readonly sha256: string;
      readonly bytes: number;
      /** Set if the file had changed between the session's last reading of it and its first change. */
      readonly isStale?: true;
    }
  | { readonly kind: "directory" }
  | { readonly kind: "link"; readonly target: string };

/** What the session sees instead. */
export type StagedEntry =
  | {
      readonly kind: "file";
      /** The name of the file among the staged contents. */
      readonly content: string;
    }
  | { readonly kind: "directory" }
  | { readonly kind: "gone" };

/** A staged change of one file, directory or link. */
export interface StagedRecord {
  /** Relative to the workspace, without `.`, `..` and links. */
  readonly path: string;
  /** `null` if there was nothing. */
  readonly was: DiskEntry | null;
  readonly now: StagedEntry;
}

/** Returns what distinguishes versions of a file without reading them. */
export function versionOf({ identity, size, modifiedAt }: EntryStat): string {
  return `${identity}:${size}:${modifiedAt}`;
}

/** Maximum number of files of which a session remembers which version it has read. */
const MAX_SEEN = 10_000;

/**
 * The versions of files that a session has read last. Changing another version could undo changes that the
 * session does not know of.
 */
export class SeenVersions {
  readonly #versions = new Map<string, string>();

  add(path: string, version: string): void {
    this.#versions.delete(path);
    this.#versions.set(path, version);
    if (this.#versions.size <= MAX_SEEN) return;
    const [oldest] = this.#versions.keys();
    this.#versions.delete(oldest as string);
  }

  /** Returns the version that was read last; `undefined` if it is not known. */
  get(path: string): string | undefined {
    return this.#versions.get(path);
  }
}

/** The longest path of a change, as of any path on Linux (`PATH_MAX`). */
const MAX_PATH_CHARS = 4_096;

/** The name of staged contents, and of what belongs to a path. */
export const HELD_NAME: RegExp = /^[0-9a-f]{32}$/;

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Reads a staged change from the workspace. Sandgate need not have written it: a repository can contain a
 * folder of this name.
 *
 * @returns `undefined` if Sandgate does not write such a record.
 */
export function parseRecord(value: unknown): StagedRecord | undefined {
  if (!isObject(value)) return undefined;
  const { path, was, now } = value;
  return isPath(path) && (was === null || isDiskEntry(was)) && isStagedEntry(now)
    ? { path, was, now }
    : undefined;
}

/** Whether a value is a path relative to the workspace, without `.` and `..`. */
export function isPath(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_PATH_CHARS || value.includes("\0")) return false;
  return value.split("/").every((name) => name !== "" && name !== "." && name !== "..");
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isDiskEntry(value: unknown): value is DiskEntry {
  if (!isObject(value)) return false;
  const { kind, sha256, bytes, isStale, target } = value;
  if (kind === "directory") return true;
  if (kind === "link") return typeof target === "string";
  const isDigest = typeof sha256 === "string" && SHA256.test(sha256);
  return (
    kind === "file" && isDigest && Number.isSafeInteger(bytes) && (isStale === undefined || isStale === true)
  );
}

function isStagedEntry(value: unknown): value is StagedEntry {
  if (!isObject(value)) return false;
  const { kind, content } = value;
  if (kind === "file") return typeof content === "string" && HELD_NAME.test(content);
  return kind === "directory" || kind === "gone";
}

const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

const FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/**
 * Reads a file of Sandgate's own folder as JSON. A link is not followed, and a pipe does not block.
 *
 * @param maxBytes The size of the longest file that is read.
 * @returns `undefined` if the file does not exist, or Sandgate cannot have written it.
 */
export function readOwnFile(path: string, maxBytes: number): unknown {
  const fd = syscallUnless(["no-entry", "not-directory", "loop"], () => openSync(path, FLAGS));
  if (fd === undefined) return undefined;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    return JSON.parse(syscall(() => readFileSync(fd, "utf8")));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    closeSync(fd);
  }
}
