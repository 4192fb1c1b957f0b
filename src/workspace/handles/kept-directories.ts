import { closeSync, fstatSync } from "node:fs";
import { realPath } from "../paths/real-path.ts";

/** How long a directory stays open after its last use, and how many do. */
const KEPT_MS = 2_000;
const MAX_KEPT = 16;

/** An open directory that several calls use, one after the other or at once. */
export interface KeptDirectory {
  readonly fd: number;
  /** The device of its file system. */
  readonly device: number;
  /** Ends this use. To be called once. */
  release(): void;
}

interface Entry {
  readonly fd: number;
  readonly device: number;
  users: number;
  /** Whether it was used since the last look at what can be closed. */
  isRecent: boolean;
}

/** By their paths. */
const entries = new Map<string, Entry>();
let timer: NodeJS.Timeout | undefined;

/**
 * Uses a directory that was opened for an earlier call, if it is still the one at its path, or opens it. The calls of an
 * agent have the same workspace, and to look at the path of an open directory takes a quarter of the time that it takes to
 * open and check it. A file system that is mounted over the directory is seen two seconds after the last call.
 *
 * @param directory An absolute path.
 * @param open Opens it. Whatever it throws is thrown.
 */
export function useDirectory(directory: string, open: (directory: string) => number): KeptDirectory {
  let entry = entries.get(directory);
  if (entry !== undefined && !isAt(entry, directory)) {
    drop(directory, entry);
    entry = undefined;
  }
  entry ??= keep(directory, open);
  entry.users++;
  entry.isRecent = true;
  const { fd, device } = entry;
  return { fd, device, release: () => release(directory, entry) };
}

/** The system says of a directory that was moved or removed that it is elsewhere. */
function isAt({ fd }: Entry, directory: string): boolean {
  return realPath(fd) === directory;
}

function keep(directory: string, open: (directory: string) => number): Entry {
  const fd = open(directory);
  const entry = { fd, device: fstatSync(fd).dev, users: 0, isRecent: true };
  if (entries.size >= MAX_KEPT) closeUnused(() => true);
  if (entries.size < MAX_KEPT) entries.set(directory, entry);
  timer ??= setInterval(closeOld, KEPT_MS).unref();
  return entry;
}

function release(directory: string, entry: Entry): void {
  entry.users--;
  if (entry.users === 0 && entries.get(directory) !== entry) closeSync(entry.fd);
}

/** Closes a directory now, or when its last user releases it. */
function drop(directory: string, entry: Entry): void {
  entries.delete(directory);
  if (entry.users === 0) closeSync(entry.fd);
}

function closeOld(): void {
  closeUnused(({ isRecent }) => !isRecent);
  for (const entry of entries.values()) entry.isRecent = false;
  if (entries.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function closeUnused(isOld: (entry: Entry) => boolean): void {
  for (const [directory, entry] of entries) {
    if (entry.users === 0 && isOld(entry)) drop(directory, entry);
  }
}
