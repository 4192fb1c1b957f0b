import type { EntryKind } from "./entry-stat.ts";
import { WorkspaceError } from "./error.ts";
import { WorkspaceFile } from "./file.ts";
import type { OpenOptions } from "./open-path.ts";
import type { ToolDirectory } from "./tool-directory.ts";

const NS_PER_MS = 1_000_000n;

/** Opens a regular file. */
export function openFile(directory: ToolDirectory, path: string, options: OpenOptions): WorkspaceFile {
  const opened = directory.open(path, options);
  if (opened instanceof WorkspaceFile) return opened;
  opened.close();
  throw new WorkspaceError("is-directory");
}

/** Opens a directory. Follows links. */
export function openDirectory(directory: ToolDirectory, path: string): ToolDirectory {
  const opened = directory.open(path, { directory: true, follow: true });
  if (!(opened instanceof WorkspaceFile)) return opened;
  opened.close();
  throw new WorkspaceError("not-directory");
}

/** Removes a file, a link or an empty directory. */
export function removeEntry(directory: ToolDirectory, path: string): void {
  try {
    directory.removeFile(path);
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error.code !== "is-directory") throw error;
    directory.removeDirectory(path);
  }
}

/** The status of an entry, in the units of JavaScript. */
export interface DescribedEntry {
  readonly kind: "file" | "directory" | "other";
  readonly size: number;
  readonly modifiedMs: number;
}

/** Returns the status of what a path leads to. */
export function describeEntry(directory: ToolDirectory, path: string): DescribedEntry {
  const { kind, size, modifiedAt } = directory.stat(path, { follow: true });
  return { kind: describeKind(kind), size: Number(size), modifiedMs: Number(modifiedAt / NS_PER_MS) };
}

/** Returns the kind of an entry as JavaScript tools see it. */
export function describeKind(kind: EntryKind): DescribedEntry["kind"] {
  if (kind === "regular-file") return "file";
  return kind === "directory" ? kind : "other";
}
