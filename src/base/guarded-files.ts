import { resolve } from "node:path";

/** What a tool may do with a guarded file. */
export type GuardedAccess = "none" | "read";

/** A file of this process that no tool may change, whatever it was granted: see {@link guardFiles}. */
export interface GuardedFile {
  /** The file need not exist. */
  readonly path: string;
  /** What a tool may do with it. Default: `none`. */
  readonly access?: GuardedAccess;
  /** Whether it is a folder, with everything below it. Default: false. */
  readonly isFolder?: boolean;
  /** In a folder, only files whose names end with this. Default: all. */
  readonly ending?: string;
}

let files: readonly GuardedFile[] = [];
/** How often each of them was guarded. */
const named = new Map<string, { readonly file: GuardedFile; times: number }>();
const listeners = new Set<() => void>();

/**
 * Denies tools access to files of this process, in all its sandboxes: no grant lets a tool read or write them, by any path or hard
 * link. Sandgate names the files of its own that it opens or writes, such as stores, journals and keys, for as long as the
 * process runs, since the next one trusts them. Name those that your program reads its policy or credentials from.
 *
 * @returns A function that ends it, for these files.
 * @example guardFiles([{ path: "policy.yaml", access: "read" }, { path: "token" }]);
 */
export function guardFiles(guarded: readonly GuardedFile[]): () => void {
  const added = guarded
    .map((file) => ({ ...file, path: resolve(file.path) }))
    .filter(({ path }) => canExist(path));
  name(added, 1);
  let isOver = false;
  return () => {
    if (!isOver) name(added, -1);
    isOver = true;
  };
}

function name(changed: readonly GuardedFile[], times: 1 | -1): void {
  const before = named.size;
  for (const file of changed) {
    const key = keyOf(file);
    const entry = named.get(key) ?? { file: Object.freeze(file), times: 0 };
    entry.times += times;
    if (entry.times > 0) named.set(key, entry);
    else named.delete(key);
  }
  if (named.size === before) return;
  files = Object.freeze(Array.from(named.values(), ({ file }) => file));
  for (const listener of listeners) listener();
}

/** Whether Linux could have a file at a path. Looking for any other fails, as if a program had closed the directory. */
function canExist(path: string): boolean {
  return (
    Buffer.byteLength(path) < 4_096 &&
    !path.includes("\0") &&
    path.split("/").every((name) => Buffer.byteLength(name) < 256)
  );
}

/** The files of an SQLite database, including those that SQLite creates beside it. */
export function databaseFiles(path: string): readonly GuardedFile[] {
  return ["", "-wal", "-shm", "-journal"].map((ending) => ({ path: `${path}${ending}` }));
}

/** All guarded files. Each change creates a new list. */
export function guardedFiles(): readonly GuardedFile[] {
  return files;
}

/** Calls a listener after each change of the list. Returns what removes it. */
export function onGuardedFiles(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Maximum number of workspaces whose files are guarded; those of a further one are guarded again when a call
 * is made there.
 */
const MAX_WORKSPACES = 1_000;

type FilesOf = (workspace: string) => readonly GuardedFile[];

const filesOf = new Set<FilesOf>();
/** What ends the guard of each workspace, the one with the latest call last. */
const workspaces = new Map<string, () => void>();

/**
 * Guards files in every workspace, from before the first call that is made there.
 *
 * @param files Returns the files of a workspace. If given again, it is called again for the known workspaces.
 */
export function guardWorkspaces(files: FilesOf): void {
  filesOf.add(files);
  for (const [path, end] of workspaces) {
    workspaces.set(path, guardFilesOf(path));
    end();
  }
}

/** Guards the files of a workspace: before a call there is decided on. */
export function enterWorkspace(path: string): void {
  const end = workspaces.get(path);
  workspaces.delete(path);
  workspaces.set(path, end ?? guardFilesOf(path));
  const [oldest] = workspaces;
  if (workspaces.size <= MAX_WORKSPACES || oldest === undefined) return;
  workspaces.delete(oldest[0]);
  oldest[1]();
}

function guardFilesOf(workspace: string): () => void {
  return guardFiles([...filesOf].flatMap((files) => files(workspace)));
}

let encoded: { readonly files: readonly GuardedFile[]; readonly text: string } = { files, text: "[]" };

/** All guarded files, for {@link takeGuardedFiles} of a thread. It is the same text until the list changes. */
export function encodedGuardedFiles(): string {
  if (encoded.files !== files) encoded = { files, text: JSON.stringify(files) };
  return encoded.text;
}

/** Takes over the guarded files of the main thread, in a thread. */
export function takeGuardedFiles(text: string | undefined): void {
  if (text === undefined || text === encodedGuardedFiles()) return;
  files = Object.freeze(JSON.parse(text) as readonly GuardedFile[]);
  encoded = { files, text };
}

function keyOf({ path, access, isFolder, ending }: GuardedFile): string {
  return JSON.stringify([path, access, isFolder, ending]);
}
