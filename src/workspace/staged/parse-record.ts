import type { DiskEntry, StagedEntry, StagedRecord } from "./staged-record.ts";

/** The longest path of a change, as of any path on Linux (`PATH_MAX`). */
const MAX_PATH_CHARS = 4_096;

/** The name of staged contents, and of what belongs to a path. */
export const HELD_NAME: RegExp = /^[0-9a-f]{32}$/;

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Reads a staged change from the workspace, where others than Sandgate can have written it: a repository can come with a
 * folder of its name.
 *
 * @returns `undefined` if it is not one that Sandgate writes.
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
